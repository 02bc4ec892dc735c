"""A Ray cluster and submitit give the same files as this process, whatever is killed during the training."""

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import replace

import pytest

from ascpo.runs.serialization import BadSetting
from ascpo.sweep.directory import SweepDirectory
from ascpo.sweep.executors import InProcess, Resources
from ascpo.sweep.executors.choose import Placement
from ascpo.sweep.jobs import run_batch
from ascpo.sweep.scheduler import BatchSizes, run_sweep
from ascpo.sweep.store import epochs_done
from tests.slow import LONG, slow
from tests.sweep.helpers import Recorder, job

SUITES = ("Point-1-Hazard", "Point-4-Hazard") if LONG else ("Point-1-Hazard",)
"""Each suite is a batch of its own. Every process of a batch traces its programs for seconds."""
EPOCHS = 3
SIX = BatchSizes(host=6)
KEPT = ("config.json", "description.json", "metrics.csv", "metrics.csv.sha256", "policy.safetensors")


UNHURRIED = {
    "RAY_agent_register_timeout_ms": "180000",
    "RAY_raylet_start_wait_time_s": "180",
    "RAY_gcs_server_port_wait_time_s": "180",
    "RAY_worker_register_timeout_seconds": "180",
    # A killed node refuses connections: it is lost after five of them. A slow node has ten seconds to answer each.
    "RAY_health_check_initial_delay_ms": "0",
    "RAY_health_check_period_ms": "500",
}
"""Patience of Ray's processes, which start slowly on a busy machine."""
LEAN = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
    # Workers start when there is work for them.
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
}
"""Processes and messages of Ray that no test needs."""


@pytest.fixture(scope="module")
def ray_installed():
    try:
        importlib.import_module("ray")
    except (ImportError, OSError) as error:  # There is no wheel for this machine, or it needs other libraries.
        pytest.skip(f"Ray cannot be loaded: {error}")


needs_ray = pytest.mark.usefixtures("ray_installed")


def jobs_in(path, seeds=6):
    found = [job(path, "trpo", seed, env) for env in SUITES for seed in range(seeds)]
    return [replace(one, config=replace(one.config, total_steps=40 * EPOCHS)) for one in found]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The files of all runs, trained in this process, by the name of the run."""
    jobs = jobs_in(tmp_path_factory.mktemp("here"))
    run_sweep(jobs, InProcess(run_batch), Recorder(), batches=SIX)
    return files(jobs)


def files(jobs):
    return {one.name: {name: (one.directory / name).read_bytes() for name in KEPT} for one in jobs}


class Killer(Recorder):
    """Progress that kills a worker when a run has an epoch, and then the machine that continues its batch."""

    def __init__(self, jobs, mark, kill_machine=lambda name: None):
        super().__init__()
        self.jobs, self.mark, self.kill_machine = jobs, mark, kill_machine
        self.killed, self.lost_batch = [], None

    def update(self):
        super().update()
        if not self.killed and any(epochs_done(one.run) for one in self.jobs):
            self.killed = workers_of(self.mark)[:1]
            for worker in self.killed:
                os.kill(worker, signal.SIGKILL)
        if len(self.killed) == 1 and self.lost_batch in self.nodes:
            self.killed.append(self.nodes[self.lost_batch])
            self.kill_machine(self.killed[-1])

    def lose(self, batch, error):
        super().lose(batch, error)
        self.lost_batch = batch


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


@pytest.fixture(scope="module")
def cluster(ray_installed):
    """A Ray cluster of three nodes. The first trains nothing, the others have a core, and one claims to have a GPU."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="ray-") as folder:
        patch.setenv("ASCPO_TEST_MARK", mark := f"ray-{os.getpid()}")
        # Others on this machine neither find this cluster nor lend it theirs. Paths of sockets must be short.
        patch.setenv("RAY_TMPDIR", folder)
        for name, value in (UNHURRIED | LEAN).items():
            patch.setenv(name, value)
        cluster, nodes = started()
        yield cluster, nodes, mark
        cluster.shutdown()


def started():
    from ray.cluster_utils import Cluster

    lean = {
        "include_dashboard": False,
        "include_log_monitor": False,
        "no_monitor": True,
        "object_store_memory": 80_000_000,
    }
    cluster = Cluster()
    # The workers of a cluster that a shell has started in the background ignore interruptions.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        cluster.add_node(num_cpus=0, **lean, **fixed_ports())
        nodes = [cluster.add_node(wait=False, num_cpus=1, num_gpus=gpus, **lean, **fixed_ports()) for gpus in (0, 1)]
        cluster.wait_for_nodes(timeout=180)
        return cluster, nodes
    except BaseException:
        cluster.shutdown()
        raise
    finally:
        signal.signal(signal.SIGINT, before)


def fixed_ports():
    """A node waits fifteen seconds until its agents, two Python processes, have chosen the ports that are not given."""
    agents = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port", "runtime_env_agent_port")
    return {name: free_port() for name in agents}


def free_port():
    with socket.socket() as found:
        found.bind(("", 0))
        return found.getsockname()[1]


@needs_ray
@pytest.mark.parametrize("kind", ["", "ray://"])
def test_an_address_at_which_nothing_listens_is_refused_at_once(kind):
    from ascpo.sweep.executors.ray import connected

    with pytest.raises(BadSetting, match=r"refused. On a machine of the cluster use host:6379"):
        connected(f"{kind}localhost:{free_port()}")


@slow("a cluster that loses a node and a worker always trains")
@needs_ray
def test_gpu_batches_take_turns_while_host_batches_train_beside_them(cluster, tmp_path):
    from ascpo.sweep.executors.ray import OnRay

    def occupy(assignment, task, mailbox):
        """Trains nothing, but waits until a batch of the other kind is there, and notes what Ray gave it, and when."""
        import json
        import time
        from pathlib import Path

        import ray

        from ascpo.sweep.executors.contract import End

        began, given = time.time(), ray.get_runtime_context().get_assigned_resources()
        gpu, host = (Path(assignment.marker).with_name(kind) for kind in ("gpu", "host"))
        mine, other = (gpu, host) if given.get("GPU") else (host, gpu)
        mine.touch()
        # How long a worker takes to start depends on what else the machine does.
        while not other.exists() and time.time() < began + 60.0:
            time.sleep(0.05)
        time.sleep(0.5)
        note = [given.get("GPU", 0.0), given.get("CPU", 0.0), began, time.time()]
        Path(assignment.marker).with_name(f"{task}.json").write_text(json.dumps(note))
        return End()

    host = jobs_in(tmp_path)[:2]
    device = [replace(one, config=replace(one.config, engine="mjx-jax")) for one in host]
    executor = OnRay(cluster[0].address, Resources(), sign_in(tmp_path), occupy)
    try:
        tasks = executor.submit([(one,) for one in (*device, *host)])
        wait_until(lambda: executor.poll() is not None and all((tmp_path / f"{task}.json").exists() for task in tasks))
    finally:
        executor.close()
    first, second, *others = (json.loads((tmp_path / f"{task}.json").read_text()) for task in tasks)
    assert [first[:2], second[:2]] == [[1.0, 1.0]] * 2
    assert [other[:2] for other in others] == [[0.0, 1.0]] * 2
    assert not overlap(first, second), "there is one GPU"
    assert any(overlap(one, other) for one in (first, second) for other in others), "the host's core is used meanwhile"


def overlap(one, other):
    return one[2] < other[3] and other[2] < one[3]


@slow("the test of a cluster that loses a node and a worker always runs")
@needs_ray
def test_a_ray_cluster_whose_driver_is_killed_stops_training_and_the_same_command_resumes(cluster, here, tmp_path):
    jobs, (ray, _, mark) = jobs_in(tmp_path)[:2], cluster
    SweepDirectory(tmp_path).write(jobs, Placement(on=ray.address), SIX)
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


def wait_until(happened, seconds=180.0):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)


@needs_ray
def test_a_ray_cluster_that_loses_a_node_and_a_worker_trains_the_same_runs(cluster, here, tmp_path):
    from ascpo.sweep.executors.ray import OnRay

    jobs, (ray, nodes, mark) = jobs_in(tmp_path), cluster
    executor = OnRay(ray.address, Resources(), sign_in(tmp_path))

    def kill_machine(name):
        (lost,) = (node for node in nodes if f"({node.node_id[:4]})" in name)
        ray.remove_node(lost, allow_graceful=False)

    progress = Killer(jobs, mark, kill_machine)
    try:
        outcomes = run_sweep(jobs, executor, progress, batches=SIX)
    finally:
        executor.close()
    assert [one.status for one in outcomes] == ["trained"] * len(jobs)
    assert len(progress.lost) >= 2
    assert files(jobs) == here


@slow("the test of a cluster with a shared file system always runs")
@needs_ray
def test_ray_sends_the_runs_where_no_file_system_is_shared_also_after_a_stop(cluster, here, tmp_path):
    from ascpo.sweep.executors.ray import OnRay

    jobs = jobs_in(tmp_path, seeds=1)[:1]
    executor = OnRay(cluster[0].address, Resources(), None)
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


def test_submitit_with_a_killed_job_trains_the_same_runs(here, tmp_path, marked):
    pytest.importorskip("submitit")
    from ascpo.sweep.executors.slurm import OnSlurm

    jobs = jobs_in(tmp_path)[:2]
    executor = OnSlurm(tmp_path / "jobs", Resources(), {}, sign_in(tmp_path), cluster="local")
    progress = Killer(jobs, marked)
    outcomes = run_sweep(jobs, executor, progress, batches=SIX)
    assert [one.status for one in outcomes] == ["trained"] * 2
    assert len(progress.lost) == 1
    assert files(jobs) == {one.name: here[one.name] for one in jobs}
