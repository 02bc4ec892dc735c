"""The scheduler of a sweep: it runs all jobs that are not done. Other processes may work in the same store.

A failed job is reported, and the others continue. A failed batch is split into halves, down to single jobs, so that
only the bad job fails, and the others lose little more than the epoch in which it failed. A sweep that was stopped is
resumed by the same call.

A batch on a GPU only trains. Its evaluations are separate jobs on the host, so that the GPU does not wait for them.
"""

import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, runtime_checkable

from ascpo.runs.links import refuse_links
from ascpo.runs.stopping import Stopped
from ascpo.sweep.executors.contract import UNLIMITED, Executor, needs_gpu
from ascpo.sweep.jobs import Batch, Job, can_share_engine
from ascpo.sweep.store import failure_file
from ascpo.sweep.tasks import Tasks


@dataclass(frozen=True)
class BatchSizes:
    """Largest numbers of runs of a batch."""

    host: int = 1
    accelerator: int = 1

    def of(self, job: Job) -> int:
        return self.accelerator if needs_gpu(job) else self.host

    def at_most(self, executor: Executor) -> "BatchSizes":
        """The sizes within the limit of an executor."""
        return replace(self, accelerator=min(self.accelerator, executor.most_runs))


ALONE = BatchSizes()
TOGETHER = BatchSizes(UNLIMITED, UNLIMITED)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a job."""

    job: Job
    status: Literal["trained", "present", "failed"]
    """`present` if it was finished before the sweep."""
    seconds: float = 0.0
    error: str = ""


@runtime_checkable
class Progress(Protocol):
    """Gets the events of a sweep."""

    def start(self, batch: Batch) -> None: ...

    def update(self) -> None:
        """Batches are running."""

    def place(self, nodes: Mapping[Batch, str]) -> None:
        """The machines of the batches that run. Batches that wait in the executor's queue have none."""

    def lose(self, batch: Batch, error: str) -> None:
        """A batch lost its worker and was submitted again."""

    def split(self, batch: Batch, error: str) -> None:
        """A batch failed and continues in halves."""

    def leave(self, batch: Batch) -> None:
        """Another process has begun to train the run meanwhile. It comes last."""

    def train(self, batch: Batch) -> None:
        """A batch was trained on a GPU, and its evaluations are waiting."""

    def end(self, outcomes: Sequence[Outcome]) -> None:
        """The jobs of one batch have ended."""


def run_sweep(
    jobs: Sequence[Job],
    executor: Executor,
    progress: Progress,
    *,
    batches: BatchSizes = ALONE,
    stop_requested: Callable[[], bool] = lambda: False,
    patience: float = 60.0,
    pause: float = 0.2,
) -> list[Outcome]:
    """Run all jobs, in batches of at most these sizes if jobs can share an engine.

    It stops when `stop_requested` returns True. At the end it waits up to `patience` seconds for jobs that another
    process trains.
    """
    queue, tasks = _Queue(jobs, batches.at_most(executor), patience), Tasks(executor, progress.lose)
    try:
        while True:
            if stop_requested():
                raise Stopped(signal.SIGTERM)
            chosen: list[Batch] = []
            while tasks.running + len(chosen) < executor.slots and (
                batch := queue.next(wait=not (tasks.running or chosen), has_room=executor.has_room)
            ):
                progress.start(batch)
                chosen.append(batch)
                # An executor with its own queue gets all batches together, any other one at a time.
                if executor.slots < UNLIMITED:
                    tasks.submit([chosen.pop()])
            tasks.submit(chosen)
            if not tasks.running:
                return queue.outcomes
            ended = tasks.poll()
            for batch, error, seconds in ended:
                first, *others = batch
                if error and others:
                    progress.split(batch, error)
                    queue.split(batch)
                elif error and first.is_busy():
                    progress.leave(batch)
                    queue.leave(batch)
                elif not error and needs_gpu(first) and any(job.evaluation for job in batch):
                    progress.train(batch)
                    queue.evaluate(batch)
                else:
                    progress.end(queue.end(batch, error, seconds))
            if not ended:
                progress.place(tasks.nodes())
                progress.update()
                time.sleep(pause)
    except BaseException:
        tasks.cancel()
        raise


class _Queue:
    """Waiting jobs, and the outcomes of ended ones. Jobs that another process trains come last."""

    def __init__(self, jobs: Sequence[Job], batches: BatchSizes, patience: float) -> None:
        self.outcomes: list[Outcome] = []
        self._jobs = deque(replace(job, trained=True) if needs_gpu(job) and job.is_trained() else job for job in jobs)
        self._sizes, self._patience = batches, patience
        self._waiting_since: float | None = None
        self._started: set[Job] = set()
        self._half: dict[Job, str] = {}
        """For jobs of failed batches: the half of the batch, the half of that half, and so on: "011"."""

    def next(self, wait: bool, has_room: Callable[[Job], bool]) -> Batch:
        """The next batch. It is empty if no job is left, or, without `wait`, if no job is free now."""
        first = self._next_job(wait, has_room)
        if first is None:
            return ()
        batch = [first, *self._companions(first, self._sizes.of(first) - 1)]
        self._started |= set(batch)
        return tuple(batch)

    def split(self, batch: Batch) -> None:
        """Put the two halves of a batch at the front of the queue, as separate batches."""
        middle = len(batch) // 2
        self._half |= {job: self._half.get(job, "") + str(int(i >= middle)) for i, job in enumerate(batch)}
        self._jobs.extendleft(reversed(batch))

    def leave(self, batch: Batch) -> None:
        """Put jobs that another process trains at the end of the queue."""
        self._started -= set(batch)
        self._jobs.extend(batch)

    def end(self, batch: Batch, error: str, seconds: float) -> list[Outcome]:
        status = "failed" if error else "trained"
        return [self._record(Outcome(job, status, seconds / len(batch), error)) for job in batch]

    def evaluate(self, batch: Batch) -> None:
        """Queue the evaluations of a batch that was trained on a GPU."""
        self._jobs.extend(replace(job, trained=True) for job in batch)

    def _next_job(self, wait: bool, has_room: Callable[[Job], bool]) -> Job | None:
        while self._jobs:
            for _ in range(len(self._jobs)):
                job = self._jobs.popleft()
                match self._state(job) if has_room(job) else "busy":
                    case "ready":
                        self._waiting_since = None
                        return job
                    case "busy":
                        self._jobs.append(job)
            if not self._jobs or not wait:
                break
            self._waiting_since = self._waiting_since or time.monotonic()
            if time.monotonic() - self._waiting_since > self._patience:
                self._give_up()
            else:
                time.sleep(min(1.0, self._patience))
        return None

    def _companions(self, first: Job, most: int) -> list[Job]:
        """Waiting jobs that can share an engine with the first one, and so with each other."""
        found: list[Job] = []
        if most < 1:
            return found
        waiting, self._jobs = self._jobs, deque()
        for job in waiting:
            joins = len(found) < most and self._half.get(job) == self._half.get(first)
            joins = joins and can_share_engine([first, job])
            match self._state(job) if joins else "busy":
                case "ready":
                    found.append(job)
                case "busy":
                    self._jobs.append(job)
        return found

    def _state(self, job: Job) -> Literal["ready", "busy", "over"]:
        """The state of a job. If it is done, or its run has other settings, its outcome is recorded."""
        try:
            job.check()
        except ValueError as error:
            self._record(Outcome(job, "failed", error=str(error)))
            return "over"
        if job.is_done():
            self._record(Outcome(job, "trained" if job in self._started else "present"))
            return "over"
        return "busy" if job.is_busy() else "ready"

    def _give_up(self) -> None:
        why = "is being trained by another process. Run the same command again when that process has finished."
        for job in self._jobs:
            self._record(Outcome(job, "failed", error=f"{job.directory} {why}"))
        self._jobs.clear()

    def _record(self, outcome: Outcome) -> Outcome:
        """Record an outcome. The store keeps the reason of a failure until the run succeeds."""
        self.outcomes.append(outcome)
        file = failure_file(outcome.job.run)
        if outcome.status == "failed":
            refuse_links(file, file.parent)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(outcome.error + "\n")
        elif outcome.status == "trained":
            file.unlink(missing_ok=True)
        return outcome
