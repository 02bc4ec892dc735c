"""The state of a job according to SLURM's queue and submitit's files, without either of them."""

import subprocess
from types import SimpleNamespace

import pytest

from ascpo.sweep.executors import slurm
from ascpo.sweep.executors.contract import End, Resources
from ascpo.sweep.executors.slurm import OnSlurm
from tests.sweep.helpers import job

REQUEUED = "CalledProcessError: Command '['scontrol', 'requeue', '7_0']' died with <Signals.SIGTERM: 15>."


class Submitted:
    """A job, as submitit shows it."""

    job_id = "7_0"

    def __init__(self, folder):
        self.paths = SimpleNamespace(result_pickle=folder / "7_0_result.pkl")
        self.error, self.end = None, End()

    def exception(self):
        return self.error

    def result(self):
        return self.end

    def ends(self, error=None):
        self.error = error
        self.paths.result_pickle.touch()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An executor with a job, and the queue that SLURM would list."""
    submitted, queue = Submitted(tmp_path), {"7_0": "node3"}
    monkeypatch.setattr(OnSlurm, "_executor", lambda self, gpu: SimpleNamespace(submit=lambda *_: submitted))
    monkeypatch.setattr(slurm, "_queue", lambda: queue)
    monkeypatch.setattr(slurm, "_POLL_EVERY", 0.0)
    monkeypatch.setattr(slurm, "_SLOW_FILES", 0.0)
    (tmp_path / "sign").touch()
    executor = OnSlurm(tmp_path / "jobs", Resources(), {}, tmp_path / "sign")
    (task,) = executor.submit([(job(tmp_path),)])
    return executor, task, submitted, queue


def test_a_job_in_the_queue_continues_and_its_host_is_known(here):
    executor, task, _, _ = here
    assert executor.poll() == {}
    assert executor.nodes() == {task: "node3"}


def test_a_result_counts_even_while_the_job_is_still_in_the_queue(here):
    executor, task, submitted, _ = here
    submitted.ends()
    assert executor.poll() == {task: End()}


def test_a_job_that_left_the_queue_without_a_result_was_lost(here):
    executor, task, _, queue = here
    queue.clear()
    executor.poll()
    ends = executor.poll()
    assert ends[task].lost
    assert "its job 7_0 ended without a result" in ends[task].error


def test_an_unreadable_queue_decides_nothing(here, monkeypatch):
    monkeypatch.setattr(slurm, "_queue", lambda: None)
    assert here[0].poll() == {}
    assert here[0].nodes() == {}


def test_a_job_that_fails_says_why(here):
    executor, task, submitted, _ = here
    submitted.ends("Traceback\nValueError: no")
    assert executor.poll() == {task: End("ValueError: no")}


def test_a_job_that_slurm_ended_and_queued_again_continues(here):
    executor, _, submitted, _ = here
    submitted.ends(REQUEUED)
    assert executor.poll() == {}
    assert not submitted.paths.result_pickle.exists()


def test_the_queue_is_parsed_from_the_output_of_slurm(monkeypatch):
    printed = subprocess.CompletedProcess([], 0, stdout="7_0 node3\n7_1 \n12 node[4-5]\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: printed)
    assert slurm._queue() == {"7_0": "node3", "7_1": "", "12": "node[4-5]"}

    def missing(*_, **__):
        raise FileNotFoundError("squeue")

    monkeypatch.setattr(subprocess, "run", missing)
    assert slurm._queue() is None
