"""Sweeps of trainings that take no time: missing, stopped, finished and failing jobs, and those of other processes."""

from dataclasses import replace

import filelock
import pytest

from ascpo.runs.files import NoRun
from ascpo.runs.links import LinkInRun
from ascpo.runs.stopping import Stopped
from ascpo.sweep.evaluation import HeldOutEpisodes
from ascpo.sweep.executors import End, InProcess
from ascpo.sweep.executors.contract import UNLIMITED, needs_gpu
from ascpo.sweep.scheduler import ALONE, TOGETHER, run_sweep
from ascpo.sweep.store import failure_file
from tests.sweep.helpers import SUITE, Recorder, job, short, write_run

ALGOS = ("trpo", "cpo", "scpo")


@pytest.fixture
def jobs(tmp_path):
    return [job(tmp_path, algo) for algo in ALGOS]


def finish(batch):
    for one in batch:
        write_run(one)


def fails_for(*names):
    """A training that fails if a batch holds one of these jobs."""

    def train(batch):
        if set(short(batch)) & set(names):
            raise RuntimeError("Epoch 7 made numbers that are not finite.")
        finish(batch)

    return InProcess(train)


def sweep(jobs, executor=None, progress=None, **options):
    return run_sweep(jobs, executor or InProcess(finish), progress or Recorder(), **options)


def statuses(outcomes):
    return [one.status for one in outcomes]


def test_missing_jobs_are_trained_stopped_jobs_resume_and_finished_jobs_stay(jobs):
    write_run(jobs[0])
    write_run(jobs[1], epochs=1)
    progress = Recorder()
    assert statuses(sweep(jobs, progress=progress)) == ["present", "trained", "trained"]
    assert progress.started == [["cpo-seed0"], ["scpo-seed0"]]
    assert set(statuses(sweep(jobs))) == {"present"}


def test_a_job_that_fails_is_reported_and_the_others_continue(jobs):
    outcomes = sweep(jobs, fails_for("cpo-seed0"))
    assert statuses(outcomes) == ["trained", "failed", "trained"]
    assert "not finite" in outcomes[1].error
    assert "not finite" in failure_file(jobs[1].run).read_text()


def test_the_reason_of_a_failure_is_not_written_through_a_link(jobs, tmp_path):
    file = failure_file(jobs[1].run)
    file.parent.mkdir(parents=True)
    file.symlink_to(victim := tmp_path / "victim")
    with pytest.raises(LinkInRun, match="is a symbolic link"):
        sweep(jobs, fails_for("cpo-seed0"))
    assert not victim.exists()


def test_the_reason_of_a_failure_is_forgotten_when_the_job_succeeds(jobs):
    file = failure_file(jobs[0].run)
    file.parent.mkdir(parents=True)
    file.write_text("The disk was full.\n")
    sweep(jobs[:1])
    assert not file.exists()


def test_a_run_with_an_earlier_seeding_is_resumed_with_it(jobs, tmp_path):
    old = job(tmp_path, "trpo", seeding=1)
    write_run(old, epochs=1)
    assert jobs[0].config.seeding == 2
    assert jobs[0].config_to_train == old.config
    jobs[0].check()
    write_run(old)
    assert statuses(sweep(jobs[:1])) == ["present"]


def test_a_run_with_other_settings_is_neither_kept_nor_overwritten(jobs, tmp_path):
    run = write_run(job(tmp_path, "trpo", discount=0.25))
    before = run.metrics.read_bytes()
    (outcome,) = sweep(jobs[:1])
    assert outcome.status == "failed"
    assert "was trained with discount=0.25, but this sweep needs 0.99. Choose another --out" in outcome.error
    assert run.metrics.read_bytes() == before


def test_a_stop_ends_the_sweep_at_once(jobs):
    def stopped(batch):
        raise Stopped(15)

    progress = Recorder()
    with pytest.raises(Stopped):
        sweep(jobs, InProcess(stopped), progress)
    assert (len(progress.started), progress.outcomes) == (1, [])


@pytest.fixture
def lock(jobs):
    """The first job's run is in the hands of another process."""
    # A lock object of its own stands for another process: locks belong to open files.
    lock = filelock.FileLock(write_run(jobs[0], epochs=1).path / ".lock")
    lock.acquire()
    yield lock
    lock.release(force=True)


@pytest.mark.parametrize("batches", [ALONE, TOGETHER])
def test_a_job_that_another_process_trains_comes_last(jobs, lock, batches):
    def train_and_release(batch):
        finish(batch)
        lock.release(force=True)

    progress = Recorder()
    outcomes = sweep(jobs, InProcess(train_and_release), progress, batches=batches)
    assert progress.started[-1] == ["trpo-seed0"]
    assert statuses(outcomes) == ["trained"] * 3


def test_a_job_that_another_process_begins_first_comes_last(jobs):
    """Two commands that start at the same time choose the same job, and only one gets its lock."""
    other = filelock.FileLock(write_run(jobs[0], epochs=1).path / ".lock")

    def train(batch):
        if short(batch) == ["trpo-seed0"]:
            other.acquire()
            raise NoRun("Another training is writing to this run.")
        finish(batch)
        if short(batch) == ["scpo-seed0"]:
            finish(jobs[:1])
            other.release(force=True)

    progress = Recorder()
    outcomes = sweep(jobs, InProcess(train), progress)
    assert progress.left == ["trpo-seed0"]
    assert [(*short([one.job]), one.status) for one in outcomes] == [
        ("cpo-seed0", "trained"),
        ("scpo-seed0", "trained"),
        ("trpo-seed0", "present"),
    ]


def test_a_job_that_another_process_does_not_release_is_reported(jobs, lock):
    outcomes = sweep(jobs[:2], patience=0.0)
    assert [(one.status, "another process" in one.error) for one in outcomes] == [("trained", False), ("failed", True)]


def test_jobs_of_a_suite_are_one_batch(tmp_path):
    jobs = [job(tmp_path, algo, env=env) for env in (SUITE, "Point-4-Hazard") for algo in ("trpo", "scpo")]
    progress = Recorder()
    sweep(jobs, progress=progress, batches=TOGETHER)
    others = ["Point-4-Hazard-trpo-seed0", "Point-4-Hazard-scpo-seed0"]
    assert progress.started == [["trpo-seed0", "scpo-seed0"], others]


def test_a_bad_job_of_a_batch_is_found_by_bisection(tmp_path):
    jobs = [job(tmp_path, algo, seed) for algo in ("trpo", "scpo") for seed in range(4)]
    progress = Recorder()
    outcomes = sweep(jobs, fails_for("scpo-seed1"), progress, batches=TOGETHER)
    assert [one.job.name for one in outcomes if one.status == "failed"] == [f"{SUITE}-scpo-seed1"]
    assert [len(batch) for batch in progress.started] == [8, 4, 4, 2, 1, 1, 2]
    assert [size for size, _ in progress.errors] == [8, 4, 2]


def test_a_failed_evaluation_does_not_affect_the_rest_of_its_batch(jobs):
    """The batch was trained when one evaluation failed. What is done by then counts as trained by this sweep."""

    def train(batch):
        for one in batch:
            write_run(one)
        if "cpo-seed0" in short(batch):
            jobs[1].run.metrics.unlink()
            raise RuntimeError("The simulator broke down.")

    outcomes = sweep(jobs, InProcess(train), batches=TOGETHER)
    assert sorted(statuses(outcomes)) == ["failed", "trained", "trained"]


class Slow:
    """An executor whose tasks end when they have been polled three times. The first ones lose their workers, after so
    many epochs."""

    def __init__(self, slots, lost_after=()):
        self.slots, self.most_runs, self.lost_after = slots, UNLIMITED, list(lost_after)
        self.running, self.most, self.cancelled = {}, 0, []

    def has_room(self, job):
        return True

    def submit(self, batches):
        return [self.start(batch) for batch in batches]

    def start(self, batch):
        task = next(slot for slot in range(self.slots) if slot not in self.running)
        self.running[task] = [batch, 0]
        self.most = max(self.most, len(self.running))
        return task

    def poll(self):
        return {task: self.end(task) for task in list(self.running) if self.polled(task) == 3}

    def polled(self, task):
        self.running[task][1] += 1
        return self.running[task][1]

    def end(self, task):
        batch, _ = self.running.pop(task)
        if self.lost_after:
            epochs = self.lost_after.pop(0)
            for one in batch:
                write_run(one, epochs)
            return End("signal 9 ended its process.", lost=True)
        finish(batch)
        return End()

    def nodes(self):
        return {task: f"node{task}" for task in self.running}

    def cancel(self, tasks):
        self.cancelled += tasks

    def close(self): ...


def test_as_many_jobs_run_at_the_same_time_as_the_executor_has_slots(jobs):
    executor = Slow(slots=2)
    assert statuses(sweep(jobs, executor, pause=0.0)) == ["trained"] * 3
    assert executor.most == 2


def test_a_stop_reaches_every_task_that_runs(jobs):
    class Impatient(Recorder):
        def update(self):
            raise Stopped(2)

    executor = Slow(slots=2)
    with pytest.raises(Stopped):
        sweep(jobs, executor, Impatient(), pause=0.0)
    assert executor.cancelled == [0, 1]


def test_a_batch_whose_worker_was_lost_is_trained_again(jobs):
    progress = Recorder()
    assert statuses(sweep(jobs, Slow(slots=1, lost_after=[0, 0]), progress, pause=0.0)) == ["trained"] * 3
    assert progress.lost == [("trpo-seed0", "signal 9 ended its process.")] * 2
    assert [name for (name,) in progress.started] == ["trpo-seed0", "cpo-seed0", "scpo-seed0"]


def test_a_job_that_loses_its_workers_without_progress_fails(jobs):
    (outcome,) = sweep(jobs[:1], Slow(slots=1, lost_after=[0, 0, 0]), pause=0.0)
    assert outcome.status == "failed"
    assert outcome.error == ("signal 9 ended its process. It lost its worker 3 times in a row without a new epoch.")


def test_epochs_that_are_repeated_from_a_checkpoint_are_no_progress(jobs):
    executor = Slow(slots=1, lost_after=[1, 0, 1, 0, 1])
    (outcome,) = sweep(jobs[:1], executor, pause=0.0)
    assert (outcome.status, len(executor.lost_after)) == ("failed", 2)


def test_a_job_that_makes_progress_may_lose_its_worker_often(jobs):
    assert statuses(sweep(jobs[:1], Slow(slots=1, lost_after=[0, 0, 1, 1]), pause=0.0)) == ["trained"]


def test_the_hosts_of_running_jobs_are_reported(jobs):
    progress = Recorder()
    sweep(jobs, Slow(slots=2), progress, pause=0.0)
    assert set(progress.nodes.values()) <= {"node0", "node1"}


class Gpu(InProcess):
    """Remembers what was asked of it, and whether that needs a GPU."""

    def __init__(self):
        super().__init__(self._train)
        self.asked = []

    def _train(self, batch):
        self.asked.append((short(batch), needs_gpu(batch[0]), {one.evaluation for one in batch}))
        for one in batch:
            write_run(one)
            if one.evaluation is not None:
                Played.runs.add(one.directory)


class Played:
    """Which runs have their episodes."""

    runs: "set" = set()  # noqa: RUF012


@pytest.fixture
def with_episodes(tmp_path, monkeypatch):
    """Three runs on a GPU, of which two need episodes after training."""
    Played.runs = set()
    monkeypatch.setattr("ascpo.sweep.jobs.is_evaluated", lambda run, wanted: not wanted or run.path in Played.runs)
    jobs = [job(tmp_path, algo, evaluation=HeldOutEpisodes(100) if algo != "cpo" else None) for algo in ALGOS]
    return [replace(one, config=replace(one.config, engine="mjx-jax")) for one in jobs]


def test_a_gpu_trains_a_batch_and_the_host_plays_its_episodes(with_episodes):
    executor, progress = Gpu(), Recorder()
    assert statuses(sweep(with_episodes, executor, progress, batches=TOGETHER)) == ["trained"] * 3
    assert executor.asked == [
        (["trpo-seed0", "cpo-seed0", "scpo-seed0"], True, {None}),
        (["trpo-seed0"], False, {HeldOutEpisodes(100)}),
        (["scpo-seed0"], False, {HeldOutEpisodes(100)}),
    ]
    assert progress.trained == [["trpo-seed0", "cpo-seed0", "scpo-seed0"]]


def test_a_run_that_lacks_only_its_episodes_does_not_use_the_gpu_again(with_episodes):
    for one in with_episodes:
        write_run(one)
    executor = Gpu()
    assert sorted(statuses(sweep(with_episodes, executor, batches=TOGETHER))) == ["present", "trained", "trained"]
    assert [(names, gpu) for names, gpu, _ in executor.asked] == [(["trpo-seed0"], False), (["scpo-seed0"], False)]
