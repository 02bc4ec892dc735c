"""Processes that train, and their arguments."""

import contextlib
import io
import json
import os
import subprocess
from dataclasses import replace

import pytest

from ascpo.runs.config import configure
from ascpo.runs.links import LinkInRun
from ascpo.runs.serialization import BadSetting
from ascpo.sweep.evaluation import FixedStarts, HeldOutEpisodes
from ascpo.sweep.executors import End, InProcess, Processes, choose, gpu_sharing
from ascpo.sweep.executors.assignment import Assignment, reserved_cores
from ascpo.sweep.executors.choose import Placement, open_executor
from ascpo.sweep.executors.contract import Resources
from ascpo.sweep.executors.gpu_sharing import GpuSharing, share_gpus
from ascpo.sweep.jobs import Job
from ascpo.sweep.store import log_file
from tests.sweep.helpers import job


class FakeProcess:
    """A process that never starts."""

    started: "list[FakeProcess]" = []  # noqa: RUF012

    def __init__(self, arguments, **options):
        self.arguments, self.options = arguments, options
        self.code, self.calls, self.stdin = None, [], io.BytesIO()
        FakeProcess.started.append(self)

    def poll(self):
        return self.code

    def terminate(self):
        self.calls.append("terminate")

    def wait(self):
        assert all(process.calls for process in FakeProcess.started)
        self.calls.append("wait")


@pytest.fixture
def processes(monkeypatch):
    FakeProcess.started = []
    monkeypatch.setattr("subprocess.Popen", FakeProcess)
    monkeypatch.setattr("ascpo.sweep.executors.processes.my_cores", lambda: [0, 2, 4, 6])
    return FakeProcess.started


def test_a_process_gets_its_jobs_and_its_share_of_the_machine(tmp_path, processes):
    executor, batch = Processes(slots=2), (job(tmp_path), job(tmp_path, seed=1))
    assert executor.submit([batch, batch]) == [0, 1]
    assert [process.arguments[-2:] for process in processes] == [["0,2", "2"], ["4,6", "2"]]
    assert processes[0].options["env"]["OMP_NUM_THREADS"] == "2"
    assert tuple(map(Job.from_data, json.loads(processes[0].stdin.getvalue()))) == batch


def test_a_slot_is_free_when_its_process_has_ended(tmp_path, processes):
    executor = Processes(slots=2)
    executor.submit([(job(tmp_path),), (job(tmp_path, seed=1),)])
    assert executor.poll() == {}
    assert not executor.has_room(job(tmp_path, seed=2))
    processes[0].code = 0
    assert executor.poll() == {0: End()}
    assert executor.has_room(job(tmp_path, seed=2))
    assert executor.submit([(job(tmp_path, seed=2),)]) == [0]


def test_batches_of_a_gpu_have_slots_beside_those_of_the_host(tmp_path, processes):
    host, device = job(tmp_path), on_gpu(job(tmp_path))
    executor = Processes(slots=1, gpus=1)
    assert executor.submit([(device,)]) == [1]
    assert (executor.has_room(device), executor.has_room(host)) == (False, True)
    assert executor.submit([(host,)]) == [0]
    environments = [process.options["env"] for process in processes]
    assert [env.get("CUDA_VISIBLE_DEVICES") for env in environments] == ["0", os.environ.get("CUDA_VISIBLE_DEVICES")]
    assert environments[1]["JAX_PLATFORMS"] == "cpu"
    # The batch of the GPU may compile on all cores.
    assert [process.arguments[-2] for process in processes] == ["", "0,2"]


def test_batches_that_share_a_gpu_share_its_memory(tmp_path, processes, monkeypatch):
    services = []

    @contextlib.contextmanager
    def service():
        services.append("began")
        yield
        services.append("ended")

    monkeypatch.setattr("ascpo.sweep.executors.processes.multi_process_service", service)
    batches = [(on_gpu(job(tmp_path, seed=seed)),) for seed in range(4)]
    executor = Processes(slots=0, gpus=2, sharing=GpuSharing(batches=2))
    assert executor.submit(batches) == [0, 1, 2, 3]
    assert not executor.has_room(batches[0][0])
    environments = [process.options["env"] for process in processes]
    assert [env["CUDA_VISIBLE_DEVICES"] for env in environments] == ["0", "0", "1", "1"]
    assert {env["XLA_PYTHON_CLIENT_MEM_FRACTION"] for env in environments} == {"0.450"}
    # The longest batches come first. CUDA lets the first one on each GPU go before the other.
    assert [env["CUDA_MPS_CLIENT_PRIORITY"] for env in environments] == ["0", "1", "0", "1"]
    assert services == ["began"]
    executor.close()
    assert services == ["began", "ended"]


def test_a_sweep_on_a_gpu_leaves_no_cores_to_host_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(choose, "count_gpus", lambda: 1)
    placement = Placement(resources=Resources(gpus=0.25))
    jobs = [on_gpu(job(tmp_path, seed=seed)) for seed in range(6)]
    assert open_executor(placement, jobs, tmp_path).slots == 4
    assert open_executor(placement, [*jobs, job(tmp_path)], tmp_path).slots == 5
    # The host plays the episodes of a run that was trained.
    evaluated = replace(jobs[0], evaluation=HeldOutEpisodes(100))
    assert open_executor(placement, [evaluated, *jobs[1:]], tmp_path).slots == 5


@pytest.mark.parametrize(
    ("gpus", "variables"),
    [(0, {"JAX_PLATFORMS": "cpu"}), (0.25, {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.225"}), (1, {}), (2, {})],
)
def test_a_worker_on_a_cluster_uses_its_share_of_a_gpu(tmp_path, gpus, variables):
    assert Assignment.of((job(tmp_path),), 1, tmp_path, gpus).environment() == variables


@pytest.mark.parametrize(
    ("runs", "gpus", "cores", "gigabytes", "shared"),
    [
        (3, 1, 16, 140, (1, 8)),  # Too few for two batches.
        (32, 1, 16, 140, (4, 8)),
        (128, 1, 16, 140, (6, 20)),  # Two more would be too many for the memory.
        (128, 1, 4, 140, (2, 62)),  # Nobody feeds more than two.
        (128, 1, 16, 8, (6, 1)),
        (128, 1, 16, 4, (3, 1)),  # A run would not fit into a sixth of the memory.
        (128, 1, 16, 1, (1, 1)),
        (128, 4, 64, 140, (4, 8)),
        (128, 8, 8, 140, (1, 16)),
    ],
)
def test_gpus_are_shared_as_cores_and_memory_allow(tmp_path, monkeypatch, runs, gpus, cores, gigabytes, shared):
    monkeypatch.setattr(gpu_sharing, "gpu_memory", lambda: gigabytes * 2**30)
    config = configure("Point-8-Hazard", "ascpo", engine="mjx-jax", num_envs=240, horizon=125)
    jobs = [Job(config, tmp_path / str(i)) for i in range(runs)]
    assert share_gpus(jobs, gpus, cores) == GpuSharing(*shared)


def test_the_requested_share_of_a_gpu_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_sharing, "gpu_memory", lambda: 140 * 2**30)
    assert share_gpus([on_gpu(job(tmp_path))] * 40, 1, 2, part=0.25).batches == 4


@pytest.mark.parametrize(("says", "gigabytes"), [("81920\n40960\n", 40), ("[N/A]\n", 16), (None, 16)])
def test_the_smallest_gpu_decides_and_an_unknown_one_counts_as_small(monkeypatch, says, gigabytes):
    def run(command, **_):
        if says is None:
            raise FileNotFoundError(command[0])
        return subprocess.CompletedProcess(command, 0, stdout=says)

    monkeypatch.setattr("subprocess.run", run)
    assert gpu_sharing.gpu_memory() == gigabytes * 2**30


@pytest.mark.parametrize(("code", "calls"), [(0, [b"", b"quit\n"]), (1, [b""]), (None, [])])
def test_the_multi_process_service_is_stopped_by_the_process_that_started_it(monkeypatch, code, calls):
    """It says 1 where it runs already. Where there is none, batches take turns."""
    heard = []

    def run(command, input=b"", **_):
        if code is None:
            raise FileNotFoundError(command[0])
        heard.append(input)
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr("subprocess.run", run)
    with gpu_sharing.multi_process_service():
        pass
    assert heard == calls


def test_a_batch_on_this_machine_uses_one_gpu_at_most(tmp_path):
    with pytest.raises(BadSetting, match="one GPU, or a part of it"):
        Placement(resources=Resources(gpus=2.0)).check([on_gpu(job(tmp_path))])


def on_gpu(one):
    return replace(one, config=replace(one.config, engine="mjx-jax"))


@pytest.mark.parametrize(
    ("code", "error", "lost"),
    [
        (1, "Epoch 7 made numbers that are not finite.", False),
        (75, "another worker has taken over", False),
        (-9, "signal 9 ended its process. The log is", True),
        (143, "SIGTERM stopped its process. The log is", True),
    ],
)
def test_a_process_that_fails_says_why_in_its_log(tmp_path, processes, code, error, lost):
    executor, one = Processes(slots=1), job(tmp_path)
    executor.submit([(one,)])
    log_file(one.run).write_text("a warning\nEpoch 7 made numbers that are not finite.\n")
    processes[0].code = code
    end = executor.poll()[0]
    assert (end.error.startswith(error), end.lost) == (True, lost)


def test_all_processes_are_signalled_before_waiting_for_any(tmp_path, processes):
    executor = Processes(slots=2)
    executor.cancel(executor.submit([(job(tmp_path, seed=seed),) for seed in (0, 1)]))
    assert [process.calls for process in processes] == [["terminate", "wait"]] * 2


def test_processes_that_are_measured_compile_their_own_programs(tmp_path, processes):
    Processes(slots=1, compile_afresh=True).submit([(job(tmp_path),)])
    assert processes[0].options["env"]["ASCPO_CACHE"] == "off"
    assert processes[0].arguments[-2:] == ["", "4"]


@pytest.mark.parametrize("link", ["logs", "logs/Point-1-Hazard-trpo-seed0.log"])
def test_a_log_is_not_written_through_a_link(tmp_path, processes, link):
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (victim := tmp_path / "victim").mkdir()
    (tmp_path / link).symlink_to(victim)
    with pytest.raises(LinkInRun, match=f"{link} is a symbolic link"):
        Processes(slots=1).submit([(job(tmp_path),)])
    assert processes == []


def test_an_error_without_a_text_is_known_by_its_name(tmp_path):
    def train(batch):
        raise MemoryError

    executor = InProcess(train)
    executor.submit([(job(tmp_path),)])
    assert executor.poll() == {0: End("MemoryError")}


@pytest.mark.parametrize("evaluation", [None, HeldOutEpisodes(100, episodes=3), FixedStarts(starts=2, episodes=4)])
def test_a_job_is_the_same_after_conversion_to_json_and_back(tmp_path, evaluation):
    one = job(tmp_path, "ascpo", evaluation=evaluation)
    assert Job.from_data(json.loads(json.dumps(one.to_data()))) == one


def test_batches_of_a_cluster_have_different_cores_if_there_are_enough(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("ascpo.sweep.executors.assignment.my_cores", lambda: [0, 2, 4])
    with reserved_cores(2) as first, reserved_cores(2) as second, reserved_cores(1) as third:
        assert (first, second, third) == ([0, 2], [4, 0], [0])
