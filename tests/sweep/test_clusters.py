"""The same files from a Ray cluster and from submitit as from this process, whatever is killed on the way."""

import importlib.util
import os
import signal
import time
from functools import partial

import pytest

from ascpo.sweep.executors import InProcess, Resources
from ascpo.sweep.jobs import run_batch
from ascpo.sweep.scheduler import BatchSizes, run_sweep
from ascpo.sweep.store import epochs_done
from tests.sweep.helpers import Recorder, job

SUITES = ("Point-1-Hazard", "Point-4-Hazard")
THREE = BatchSizes(host=3)
KEPT = ("config.json", "description.json", "metrics.csv", "metrics.csv.sha256", "policy.safetensors")


def needs(package):
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"{package} is not installed: make test-clusters installs it")


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
    """A Ray cluster of three nodes with a core each, and a head that trains nothing."""
    from ray.cluster_utils import Cluster

    mark = os.environ.setdefault("ASCPO_TEST_MARK", f"ray-{os.getpid()}")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(wait=False, num_cpus=1) for _ in range(3)]
    cluster.wait_for_nodes()
    yield cluster, nodes, mark
    cluster.shutdown()
    del os.environ["ASCPO_TEST_MARK"]


@needs("ray")
def test_a_ray_cluster_that_loses_a_node_and_a_worker_trains_the_same_runs(cluster, here, tmp_path):
    from ascpo.sweep.executors.ray import OnRay

    jobs, (ray, nodes, mark) = jobs_in(tmp_path), cluster
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
