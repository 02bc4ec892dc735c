"""One training on several machines that one command starts: what happens when one of them is lost."""

import os
import signal
import threading
import time

import pytest

from ascpo.cli.main import main
from ascpo.runs.directory import RunDirectory, find
from ascpo.runs.serialization import BadSetting
from ascpo.runs.tables import read_table
from ascpo.sweep.executors import End
from ascpo.sweep.executors.contract import Resources
from ascpo.sweep.hosts import HostsRun, RayHosts, train_on_hosts
from ascpo.sweep.store import epochs_done
from tests.runs.helpers import EPOCH, POINT, TINY
from tests.slow import slow
from tests.sweep.helpers import job, write_run
from tests.sweep.test_clusters import workers_of

LOST = End("A machine was lost", lost=True)


@pytest.fixture
def run(tmp_path):
    return HostsRun(POINT, "trpo", str(tmp_path), f"{POINT}-trpo-seed0", "mjx-jax", 80.0, 0, None, {})


class Machines:
    """Two machines that end as they are told to, after so many epochs."""

    def __init__(self, path, *rounds):
        self.path, self.rounds, self.resumed = path, list(rounds), []

    def __call__(self, run, resume):
        self.resumed.append(resume)
        epochs, ends = self.rounds.pop(0)
        if epochs is not None:
            write_run(job(self.path), epochs)
        return ends


def test_all_hosts_restart_when_one_is_lost(run, tmp_path):
    said = []
    machines = Machines(tmp_path, (None, [LOST, LOST]), (1, [End(), LOST]), (2, [End(), End()]))
    train_on_hosts(run, machines, said.append)
    assert machines.resumed == [False, False, True]
    assert said == [f"A machine was lost. All machines start again after epoch {epoch}." for epoch in (0, 1)]


@pytest.mark.parametrize("epochs", [(1, 1, 1, 1, 1), (1, 0, 1, 0, 1)])
def test_losing_hosts_without_progress_ends_the_training(run, tmp_path, epochs):
    """Epochs that are repeated from the last checkpoint are no progress."""
    machines = Machines(tmp_path, *[(done, [End(), LOST]) for done in epochs])
    with pytest.raises(BadSetting, match="3 times in a row without a new epoch"):
        train_on_hosts(run, machines, lambda sentence: None)
    assert len(machines.resumed) == 3


def test_a_training_that_fails_on_its_own_is_not_tried_again(run, tmp_path):
    machines = Machines(tmp_path, (0, [LOST, End("num_envs=3 cannot be shared by 2 devices.")]))
    with pytest.raises(BadSetting, match="cannot be shared by 2 devices"):
        train_on_hosts(run, machines, lambda sentence: None)


@pytest.mark.parametrize(
    ("resources", "cluster", "bundle"),
    [
        (Resources(), {"CPU": 8.0, "GPU": 2.0}, {"CPU": 1, "GPU": 1.0}),
        (Resources(cores=4, gpus=2.0), {"CPU": 8.0, "GPU": 2.0}, {"CPU": 4, "GPU": 2.0}),
        (Resources(), {"CPU": 8.0}, {"CPU": 1, "GPU": 0.0}),
    ],
)
def test_every_machine_of_a_ray_cluster_with_gpus_uses_one_unless_told_otherwise(resources, cluster, bundle):
    assert RayHosts("ray", 2, resources).bundle(cluster) == bundle


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--cores", "2"], "cores=2 changes nothing: it is for clusters"),
        (["--gpus", "1"], "gpus=1.0 changes nothing: it is for clusters"),
        (["--slurm", "time=10"], "slurm changes nothing: it is for --on slurm"),
        (["--on", "ray", "--slurm", "time=10"], "slurm changes nothing: it is for --on slurm"),
    ],
)
def test_options_that_change_nothing_for_these_machines_are_refused(words, why, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["ascpo", "hosts", *words, "--out", str(tmp_path / "runs")])
    with pytest.raises(SystemExit, match=why):
        main()


@slow("compiles for minutes")
def test_two_hosts_train_to_the_end_although_one_is_killed(tmp_path, monkeypatch):
    from ascpo.cli import main

    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=1"
    monkeypatch.setenv("XLA_FLAGS", f"{flags} --xla_backend_optimization_level=0")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setenv("ASCPO_TEST_MARK", str(tmp_path))
    name = f"{POINT}-ascpo-seed0"

    def kill_one():
        while epochs_done(RunDirectory(tmp_path / name)) < 1:
            time.sleep(0.05)
        os.kill(max(workers_of(str(tmp_path), b"ascpo.sweep.host")), signal.SIGKILL)

    threading.Thread(target=kill_one, daemon=True).start()
    settings = [f"num_envs={TINY['num_envs']}", f"horizon={TINY['horizon']}", "hidden=8,8", "value_fit.iterations=4"]
    settings += ["value_fit.batch_size=32", "cost_fit.iterations=4", "cost_fit.batch_size=32", "cost_fit.window=3"]
    words = [word for setting in settings for word in ("--set", setting)]
    typed = ["hosts", "--hosts", "2", "--env", POINT, "--engine", "mjx-jax", "--total-steps", str(6 * EPOCH)]
    monkeypatch.setattr("sys.argv", ["ascpo", *typed, *words, "--out", str(tmp_path)])
    main.main()
    assert len(read_table(find(tmp_path / name).metrics)["Epoch"]) == 6
