"""The same files from a Ray cluster and from submitit as from this process, whatever is killed on the way."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial

import pytest

from ascpo.sweep.executors import InProcess, Resources
from ascpo.sweep.executors.choose import Placement
from ascpo.sweep.jobs import run_batch
from ascpo.sweep.record import Record
from ascpo.sweep.scheduler import BatchSizes, run_sweep
from ascpo.sweep.store import epochs_done
from tests.sweep.helpers import Recorder, job

SUITES = ("Point-1-Hazard", "Point-4-Hazard")
THREE = BatchSizes(host=3)
KEPT = ("config.json", "description.json", "metrics.csv", "metrics.csv.sha256", "policy.safetensors")


def needs(package):
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"{package} is not installed")


def jobs_in(path, seeds=6):
    return [job(path, "trpo", seed, env) for env in SUITES for seed in range(seeds)]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The files of all runs, trained in this process, by the name of the run."""
    jobs = jobs_in(tmp_path_factory.mktemp("here"))
    run_sweep(jobs, InProcess(run_batch), Recorder(), batches=THREE)
    return files(jobs)


def files(jobs):
    return {one.name: {name: (one.directory / name).read_bytes() for name in KEPT} for one in jobs}


class Killer(Recorder):
    """Progress that kills something, once each, when there is one more run with an epoch."""

    def __init__(self, jobs, *kills):
        super().__init__()
        self.jobs, self.kills = jobs, list(enumerate(kills))

    def update(self):
        super().update()
        if self.kills and sum(epochs_done(one.run) > 0 for one in self.jobs) > self.kills[0][0]:
            self.kills.pop(0)[1]()


def sign_in(path):
    sign = path / "sign"
    sign.touch()
    return sign


def workers_of(parent, program=b"ascpo.sweep.worker"):
    """The processes that train below this one."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    command = file.read()
                with open(f"/proc/{entry}/environ", "rb") as file:
                    environment = file.read()
            except OSError:
                continue
            if program in command and parent.encode() in environment:
                found.append(int(entry))
    return found


@pytest.fixture
def marked(monkeypatch, tmp_path):
    """A mark in the environment of all processes that a test starts."""
    monkeypatch.setenv("ASCPO_TEST_MARK", str(tmp_path))
    return str(tmp_path)


def kill_worker(mark):
    for worker in workers_of(mark)[:1]:
        os.kill(worker, signal.SIGKILL)


@pytest.fixture(scope="module")
def cluster():
    """A Ray cluster of three nodes with a core each. The driver is on the first one, the other two can be lost."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="ray-") as folder:
        patch.setenv("ASCPO_TEST_MARK", mark := f"ray-{os.getpid()}")
        # Others on this machine neither find this cluster nor lend it theirs. Paths of sockets must be short.
        patch.setenv("RAY_TMPDIR", folder)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        cluster, nodes, client = started(attempts=2)
        yield cluster, nodes, mark, client
        cluster.shutdown()


def started(attempts):
    """Start Ray. A node ends if its agents, two Python processes, need longer than 15 seconds to start."""
    from ray.cluster_utils import Cluster

    lean = {"num_cpus": 1, "include_dashboard": False, "include_log_monitor": False, "no_monitor": True}
    client, cluster = free_port(), Cluster()
    # The workers of a cluster that a shell has started in the background ignore interruptions.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        cluster.add_node(ray_client_server_port=client, **lean, **fixed_ports())
        nodes = [cluster.add_node(wait=False, **lean, **fixed_ports()) for _ in range(2)]
        cluster.wait_for_nodes()
        return cluster, nodes, f"ray://localhost:{client}"
    except Exception as error:  # Ray has no narrower kind for it.
        cluster.shutdown()
        if attempts == 1:
            pytest.fail(f"Ray did not start, twice: {error}")
        warnings.warn(f"Ray did not start and is tried once more: {error}", stacklevel=1)
        return started(attempts - 1)
    finally:
        signal.signal(signal.SIGINT, before)


def fixed_ports():
    """A node whose ports are known does not wait until its agents have chosen some."""
    return {name: free_port() for name in ("runtime_env_agent_port", "metrics_agent_port", "metrics_export_port")}


def free_port():
    with socket.socket() as found:
        found.bind(("", 0))
        return found.getsockname()[1]


@needs("ray")
def test_a_ray_cluster_whose_driver_is_killed_stops_training_and_the_same_command_resumes(cluster, here, tmp_path):
    jobs, (ray, _, mark, _) = jobs_in(tmp_path, seeds=2), cluster
    Record(tmp_path).write(jobs, Placement(on=ray.address), BatchSizes(host=2))
    command = [sys.executable, "-m", "ascpo.cli.main", "sweep", "resume", str(tmp_path)]
    with subprocess.Popen(command) as driver:
        wait_until(lambda: any(epochs_done(one.run) for one in jobs))
        trainings = workers_of(mark)
        driver.kill()
    # At once, while the first workers may be there still.
    with subprocess.Popen(command) as driver:
        wait_until(lambda: not set(trainings) & set(workers_of(mark)))
        assert driver.wait() == 0
    assert trainings
    assert files(jobs) == {one.name: here[one.name] for one in jobs}


def wait_until(happened, seconds=60.0):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)


@needs("ray")
def test_a_ray_cluster_that_loses_a_node_and_a_worker_trains_the_same_runs(cluster, here, tmp_path):
    from ascpo.sweep.executors.ray import OnRay

    jobs, (ray, nodes, mark, _) = jobs_in(tmp_path), cluster
    executor = OnRay(ray.address, Resources(), sign_in(tmp_path))
    lose_node = partial(ray.remove_node, nodes[0], allow_graceful=False)
    progress = Killer(jobs, partial(kill_worker, mark), lose_node)
    try:
        outcomes = run_sweep(jobs, executor, progress, batches=THREE)
    finally:
        executor.close()
    assert [one.status for one in outcomes] == ["trained"] * 12
    assert len(progress.lost) >= 2
    assert files(jobs) == here


@needs("ray")
def test_ray_sends_the_runs_to_a_driver_elsewhere_also_after_a_stop(cluster, here, tmp_path):
    from ascpo.sweep.executors.ray import OnRay

    jobs = jobs_in(tmp_path, seeds=1)[:1]
    executor = OnRay(cluster[-1], Resources(), None)
    try:
        (task,) = executor.submit([tuple(jobs)])
        while not executor.nodes():
            assert executor.poll() == {}
            time.sleep(0.1)
        executor.cancel([task])
        assert not jobs[0].is_done()
        outcomes = run_sweep(jobs, executor, Recorder())
    finally:
        executor.close()
    assert [one.status for one in outcomes] == ["trained"]
    assert files(jobs) == {one.name: here[one.name] for one in jobs}


@needs("submitit")
def test_submitit_with_a_killed_job_trains_the_same_runs(here, tmp_path, marked):
    from ascpo.sweep.executors.slurm import OnSlurm

    jobs = jobs_in(tmp_path, seeds=1)
    executor = OnSlurm(tmp_path / "jobs", Resources(), {}, sign_in(tmp_path), cluster="local")
    progress = Killer(jobs, partial(kill_worker, marked))
    outcomes = run_sweep(jobs, executor, progress)
    assert [one.status for one in outcomes] == ["trained"] * 2
    assert len(progress.lost) == 1
    assert files(jobs) == {one.name: here[one.name] for one in jobs}
