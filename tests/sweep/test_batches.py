"""Trainings in batches: all runs that can share an engine train at once, each as if it were alone."""

import shutil

import pytest

from ascpo.runs.stopping import Stopped
from ascpo.sweep.executors import InProcess
from ascpo.sweep.jobs import run_batch
from ascpo.sweep.scheduler import TOGETHER, run_sweep
from ascpo.sweep.store import epochs_done, failure_file
from tests.slow import LONG, slow
from tests.sweep.helpers import EPOCHS, SUITE, Recorder, job

OTHER = "scpo" if LONG else "trpo"


def jobs_in(path):
    """Two of them are of another algorithm in the long run, which has to be compiled."""
    return [job(path, algo, seed) for algo, seed in (("trpo", 0), ("trpo", 1), (OTHER, 2), (OTHER, 3))]


def train_in_batches(jobs, progress):
    executor = InProcess(lambda batch: run_batch(batch, on_epoch=progress.update))
    return run_sweep(jobs, executor, progress, batches=TOGETHER)


class Impatient(Recorder):
    """Stops the sweep after the first epoch."""

    def update(self):
        raise Stopped(15)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The metrics of runs that were trained one by one, by name."""
    jobs = jobs_in(tmp_path_factory.mktemp("alone"))
    for one in jobs:
        run_batch((one,))
    return metrics(jobs)


def metrics(jobs):
    return {one.name: one.run.metrics.read_bytes() for one in jobs}


@slow("engines and groups of runs are tested alone and together")
def test_runs_in_a_batch_are_bit_identical_to_runs_alone(alone, tmp_path):
    jobs, progress = jobs_in(tmp_path), Recorder()
    assert [one.status for one in train_in_batches(jobs, progress)] == ["trained"] * 4
    assert progress.started == [["trpo-seed0", "trpo-seed1", f"{OTHER}-seed2", f"{OTHER}-seed3"]]
    assert progress.updates == EPOCHS
    assert metrics(jobs) == alone
    assert {one.status for one in train_in_batches(jobs, Recorder())} == {"present"}


@slow("the test of a killed batch always runs")
def test_a_stopped_batch_resumes_together_with_a_new_job(alone, tmp_path):
    jobs, progress = jobs_in(tmp_path), Recorder()
    with pytest.raises(Stopped):
        train_in_batches(jobs[:3], Impatient())
    assert [epochs_done(one.run) for one in jobs] == [1, 1, 1, 0]
    assert [one.status for one in train_in_batches(jobs, progress)] == ["trained"] * 4
    assert [len(batch) for batch in progress.started] == [4]
    assert metrics(jobs) == alone


def test_a_batch_that_was_killed_between_two_checkpoints_resumes(alone, tmp_path):
    jobs, progress = jobs_in(tmp_path), Recorder()
    with pytest.raises(Stopped):
        train_in_batches(jobs, Impatient())
    shutil.rmtree(jobs[2].run.checkpoints / "1")
    assert [one.status for one in train_in_batches(jobs, progress)] == ["trained"] * 4
    assert [len(batch) for batch in progress.started] == [4]
    assert metrics(jobs) == alone


def test_a_batch_leaves_out_the_run_that_is_finished(alone, tmp_path):
    jobs, progress = jobs_in(tmp_path), Recorder()
    run_batch((jobs[1],))
    written = jobs[1].run.metrics.stat().st_mtime_ns
    outcomes = train_in_batches(jobs, progress)
    assert sorted(one.status for one in outcomes) == ["present", "trained", "trained", "trained"]
    assert progress.started == [["trpo-seed0", f"{OTHER}-seed2", f"{OTHER}-seed3"]]
    assert jobs[1].run.metrics.stat().st_mtime_ns == written
    assert metrics(jobs) == alone


def test_a_run_that_fails_costs_its_batch_one_epoch_and_no_other_result(alone, tmp_path, monkeypatch):
    from ascpo.training import loop

    check = loop._check

    def bad_for_one(row, finite):
        """The second epoch of one run fails. Its numbers tell which run it is."""
        check(row, finite)
        if row["Epoch"] == 1 and f"{row['EpRet']:.6g}" == bad_return:
            raise loop.TrainingDiverged("Epoch 1 made numbers that are not finite.")

    header, *_, last = alone[f"{SUITE}-{OTHER}-seed2"].decode().splitlines()
    bad_return = last.split(",")[header.split(",").index("EpRet")]
    monkeypatch.setattr(loop, "_check", bad_for_one)
    jobs, progress = jobs_in(tmp_path), Recorder()
    outcomes = train_in_batches(jobs, progress)
    assert {one.job.name: one.status for one in outcomes} == {
        one.name: "failed" if one == jobs[2] else "trained" for one in jobs
    }
    assert progress.started == [
        ["trpo-seed0", "trpo-seed1", f"{OTHER}-seed2", f"{OTHER}-seed3"],
        ["trpo-seed0", "trpo-seed1"],
        [f"{OTHER}-seed2", f"{OTHER}-seed3"],
        [f"{OTHER}-seed2"],
        [f"{OTHER}-seed3"],
    ]
    good = [jobs[0], jobs[1], jobs[3]]
    assert metrics(good) == {one.name: alone[one.name] for one in good}
    assert epochs_done(jobs[2].run) == 1
    assert "not finite" in failure_file(jobs[2].run).read_text()
