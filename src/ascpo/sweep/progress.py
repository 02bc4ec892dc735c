"""The progress of a sweep as lines: an event of a job, and the remaining time."""

import time
from collections.abc import Mapping, Sequence

from rich.console import Console

from ascpo.sweep.estimate import Estimate, duration
from ascpo.sweep.jobs import Batch, Job
from ascpo.sweep.scheduler import Outcome

_INTERVAL = 60.0
"""Seconds between two lines about batches that run."""


class ConsoleProgress:
    """Prints the progress of a sweep."""

    def __init__(self, jobs: Sequence[Job], estimate: Estimate, slots: int = 1, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._estimate = estimate
        self._epochs = {job: job.epochs_left for job in jobs}
        """Epochs that are left, of the jobs that have not ended."""
        self._slots, self._total = slots, len(jobs)
        self._number: dict[Job, int] = {}
        self._running: dict[Batch, None] = {}
        self._updated = time.monotonic()

    def start(self, batch: Batch) -> None:
        for job in batch:
            self._number.setdefault(job, len(self._number) + 1)
            self._epochs.setdefault(job, 0)
        self._running[batch] = None
        epochs = batch[0].config.epochs
        done = sorted({epochs - job.epochs_left for job in batch})
        resumed = ""
        if done[-1] > 0 and done[0] < epochs:
            resumed = f", resumed after epoch {' to '.join(map(str, dict.fromkeys([done[0], done[-1]])))}"
        self._print(batch, "its episodes after training" if batch[0].trained else f"{epochs} epochs{resumed}")

    def update(self) -> None:
        if time.monotonic() - self._updated < _INTERVAL:
            return
        self._updated = time.monotonic()
        for batch in self._running:
            self._look_at(batch)
        for batch in self._running:
            epochs = batch[0].config.epochs
            self._print(batch, f"epoch {epochs - max(self._epochs[job] for job in batch)} of {epochs}")

    def place(self, nodes: Mapping[Batch, str]) -> None: ...

    def lose(self, batch: Batch, error: str) -> None:
        self._print(batch, f"lost its worker: {error.rstrip('.')}; it continues from its last checkpoint")

    def split(self, batch: Batch, error: str) -> None:
        del self._running[batch]
        self._look_at(batch)
        self._print(batch, f"failed: {error.rstrip('.')}; it continues in two halves")

    def leave(self, batch: Batch) -> None:
        del self._running[batch]
        self._print(batch, "another process trains it")

    def train(self, batch: Batch) -> None:
        del self._running[batch]
        self._look_at(batch)
        self._print(batch, "trained; its episodes are played on the host")

    def end(self, outcomes: Sequence[Outcome]) -> None:
        batch = tuple(outcome.job for outcome in outcomes)
        del self._running[batch]
        self._look_at(batch)
        for job in batch:
            del self._epochs[job]
        seconds = sum(outcome.seconds for outcome in outcomes)
        error = outcomes[0].error
        self._print(batch, f"failed: {error.rstrip('.')}" if error else f"done in {duration(seconds)}")

    def close(self) -> None: ...

    def _print(self, batch: Batch, event: str) -> None:
        numbers = sorted(self._number[job] for job in batch)
        which, what = str(numbers[0]), batch[0].name
        if len(batch) > 1:
            which, what = f"{which} to {numbers[-1]}", f"batch of {len(batch)} runs of {batch[0].config.env}"
        self._console.print(f"[{which} of {self._total}] {what}: {event}; {self._left()} left in total", markup=False)

    def _look_at(self, batch: Batch) -> None:
        self._estimate.learn(batch[0].run)
        self._epochs |= {job: job.epochs_left for job in batch}

    def _left(self) -> str:
        seconds = sum(self._estimate.seconds(job.config, epochs) for job, epochs in self._epochs.items())
        training = sum(epochs > 0 for epochs in self._epochs.values())
        return duration(seconds / max(1, min(self._slots, training)))
