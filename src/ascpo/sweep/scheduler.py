"""Run many jobs: those that are missing and those that were stopped. Other processes may work in the same store.

A job that fails is reported, and the others continue. A batch that fails is split into halves, and these again, down to
single jobs. So only the bad job fails, and the others lose hardly more than the epoch in which it failed. Whatever
stops a sweep, the same call resumes it.
"""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from ascpo.runs.links import refuse_links
from ascpo.sweep.executors import Executor
from ascpo.sweep.jobs import Batch, Job, can_share_engine
from ascpo.sweep.store import failure_file


@dataclass(frozen=True)
class Outcome:
    """How a job ended."""

    job: Job
    status: Literal["trained", "present", "failed"]
    """`present`: it was finished before the sweep."""
    seconds: float = 0.0
    error: str = ""


@runtime_checkable
class Progress(Protocol):
    """Hears what happens in a sweep."""

    def start(self, batch: Batch) -> None: ...

    def update(self) -> None:
        """Batches are running."""

    def split(self, batch: Batch, error: str) -> None:
        """A batch failed and continues in halves."""

    def end(self, outcomes: Sequence[Outcome]) -> None:
        """The jobs of one batch have ended."""


def run_sweep(
    jobs: Sequence[Job],
    executor: Executor,
    progress: Progress,
    *,
    batched: bool = False,
    patience: float = 60.0,
    pause: float = 0.2,
) -> list[Outcome]:
    """Run all jobs. With `batched`, jobs that can share an engine are trained together.

    When nothing else is left, it waits `patience` seconds for jobs that another process trains.
    """
    queue = _Queue(jobs, batched, patience)
    running: dict[int, tuple[Batch, float]] = {}
    try:
        while True:
            while len(running) < executor.slots and (batch := queue.next(wait=not running)):
                progress.start(batch)
                began = time.monotonic()
                running[executor.submit(batch)] = batch, began
            if not running:
                return queue.outcomes
            ended = {task: error for task in running if (error := executor.poll(task)) is not None}
            for task, error in ended.items():
                batch, began = running.pop(task)
                if error and len(batch) > 1:
                    progress.split(batch, error)
                    queue.split(batch)
                else:
                    progress.end(queue.end(batch, error, time.monotonic() - began))
            if not ended:
                progress.update()
                time.sleep(pause)
    except BaseException:
        executor.cancel(list(running))
        raise


class _Queue:
    """Jobs that wait, and outcomes of those that do not. Jobs that another process trains come last."""

    def __init__(self, jobs: Sequence[Job], batched: bool, patience: float) -> None:
        self.outcomes: list[Outcome] = []
        self._jobs = deque(jobs)
        self._batched, self._patience = batched, patience
        self._waiting_since: float | None = None
        self._started: set[Job] = set()
        self._half: dict[Job, str] = {}
        """The half of a failed batch that a job is in, then the half of that half, and so on: "011"."""

    def next(self, wait: bool) -> Batch:
        """The next batch. It is empty if no job is left, or, without `wait`, if no job is free now."""
        first = self._next_job(wait)
        if first is None:
            return ()
        batch = [first, *self._companions(first)] if self._batched else [first]
        self._started |= set(batch)
        return tuple(batch)

    def split(self, batch: Batch) -> None:
        """The two halves of a batch come next, each for itself."""
        middle = len(batch) // 2
        self._half |= {job: self._half.get(job, "") + str(int(i >= middle)) for i, job in enumerate(batch)}
        self._jobs.extendleft(reversed(batch))

    def end(self, batch: Batch, error: str, seconds: float) -> list[Outcome]:
        status = "failed" if error else "trained"
        return [self._record(Outcome(job, status, seconds / len(batch), error)) for job in batch]

    def _next_job(self, wait: bool) -> Job | None:
        while self._jobs:
            for _ in range(len(self._jobs)):
                job = self._jobs.popleft()
                match self._state(job):
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

    def _companions(self, first: Job) -> list[Job]:
        """All waiting jobs that can share an engine with the first one and with each other."""
        found: list[Job] = []
        waiting, self._jobs = self._jobs, deque()
        for job in waiting:
            joins = self._half.get(job) == self._half.get(first) and can_share_engine([first, *found, job])
            match self._state(job) if joins else "busy":
                case "ready":
                    found.append(job)
                case "busy":
                    self._jobs.append(job)
        return found

    def _state(self, job: Job) -> Literal["ready", "busy", "over"]:
        """A job that is done or has other settings than its run is over, and is recorded."""
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
        """Remember an outcome. The store keeps the reason of a failure until the run succeeds."""
        self.outcomes.append(outcome)
        file = failure_file(outcome.job.run)
        if outcome.status == "failed":
            refuse_links(file, file.parent)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(outcome.error + "\n")
        elif outcome.status == "trained":
            file.unlink(missing_ok=True)
        return outcome
