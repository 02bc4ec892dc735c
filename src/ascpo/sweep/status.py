"""The status of a sweep: the runs that are done, running, failed and waiting, the remaining time, and the machines.

A terminal shows a live status. `ascpo sweep status` prints it once, from the files of the runs.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ascpo.sweep.claim import Claim
from ascpo.sweep.estimate import Estimate, duration
from ascpo.sweep.jobs import Batch, Job
from ascpo.sweep.scheduler import Outcome
from ascpo.sweep.store import failure_file

_SHOWN = 12
"""Largest number of rows of each kind: a sweep may have thousands of runs."""
_EVERY = 1.0
"""Seconds between two looks at the files of running batches."""


@dataclass(frozen=True)
class Row:
    """A running batch."""

    batch: Batch
    node: str

    @property
    def cells(self) -> tuple[str, str, str]:
        epochs = self.batch[0].config.epochs
        done = epochs - max(job.epochs_left for job in self.batch)
        return _name(self.batch), self.node, f"{done} of {epochs}"


@dataclass(frozen=True)
class SweepStatus:
    """The status of a sweep."""

    runs: int
    done: int = 0
    failed: Mapping[str, str] = field(default_factory=dict)
    """The reasons, by the names of the runs."""
    running: Sequence[Row] = ()
    seconds_left: float = 0.0

    @property
    def waiting(self) -> int:
        return self.runs - self.done - len(self.failed) - sum(len(row.batch) for row in self.running)

    def picture(self) -> RenderableType:
        counts = {"done": self.done, "running": self.runs - self.done - len(self.failed) - self.waiting}
        counts |= {"failed": len(self.failed), "waiting": self.waiting}
        line = f"{self.runs} runs: " + ", ".join(f"{number} {name}" for name, number in counts.items())
        parts: list[RenderableType] = [Text(f"{line}; about {duration(self.seconds_left)} left", style="bold")]
        if self.running:
            table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
            for title in ("running", "on", "epoch"):
                table.add_column(title, justify="right" if title == "epoch" else "left", overflow="fold")
            for row in self.running[:_SHOWN]:
                table.add_row(*row.cells)
            parts.append(table)
            parts += _rest(len(self.running), "running")
        parts += [Text(f"{name}: {why}", style="red") for name, why in list(self.failed.items())[:_SHOWN]]
        return Group(*parts, *_rest(len(self.failed), "failed"))


def status_of(jobs: Sequence[Job], estimate: Estimate) -> SweepStatus:
    """The status of a sweep, from the files of its runs. Its remaining time is that of one run after the other."""
    left = [job for job in jobs if not job.is_done()]
    claims = {job: claim.host for job in left if (claim := Claim.of(job.directory)) is not None}
    failed = {
        job.name: failure_file(job.run).read_text().strip()
        for job in left
        if job not in claims and failure_file(job.run).exists()
    }
    running = [Row((job,), host) for job, host in claims.items()]
    seconds = sum((estimate.seconds(job.config, job.epochs_left) for job in left if job.name not in failed), 0.0)
    return SweepStatus(len(jobs), len(jobs) - len(left), failed, running, seconds)


class LiveProgress:
    """Progress of a sweep as a live status, for a terminal."""

    def __init__(self, jobs: Sequence[Job], estimate: Estimate, slots: int, console: Console) -> None:
        self._estimate, self._slots, self._runs = estimate, slots, len(jobs)
        self._epochs = {job: job.epochs_left for job in jobs if not job.is_done()}
        """Epochs that are left, of the jobs that have not ended."""
        self._done, self._failed = len(jobs) - len(self._epochs), dict[str, str]()
        self._nodes: Mapping[Batch, str] = {}
        self._drawn = 0.0
        self._live = Live(self._status().picture(), console=console, auto_refresh=False)
        self._live.start()

    def start(self, batch: Batch) -> None:
        self.update()

    def update(self) -> None:
        if time.monotonic() - self._drawn >= _EVERY:
            self._draw()

    def place(self, nodes: Mapping[Batch, str]) -> None:
        self._nodes = nodes

    def lose(self, batch: Batch, error: str) -> None:
        self._say(f"{_name(batch)} lost its worker: {error.rstrip('.')}. It continues from its last checkpoint.")

    def split(self, batch: Batch, error: str) -> None:
        self._say(f"{_name(batch)} failed: {error.rstrip('.')}. It continues in two halves.")

    def leave(self, batch: Batch) -> None:
        self._say(f"{_name(batch)}: another process trains it.")

    def train(self, batch: Batch) -> None:
        self._nodes = {other: node for other, node in self._nodes.items() if other != batch}
        self.update()

    def end(self, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            self._epochs.pop(outcome.job, None)
            if outcome.status == "failed":
                self._failed[outcome.job.name] = outcome.error
            else:
                self._done += 1
        self._nodes = {batch: node for batch, node in self._nodes.items() if batch[0] in self._epochs}
        self.update()

    def close(self) -> None:
        self._draw()
        self._live.stop()

    def _status(self) -> SweepStatus:
        for batch in self._nodes:
            self._estimate.learn(batch[0].run)
            self._epochs |= {job: job.epochs_left for job in batch if job in self._epochs}
        running = [Row(batch, node) for batch, node in self._nodes.items()]
        seconds = sum(self._estimate.seconds(job.config, epochs) for job, epochs in self._epochs.items())
        beside = max(1, min(self._slots, len(self._epochs)))
        return SweepStatus(self._runs, self._done, self._failed, running, seconds / beside)

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        self._live.update(self._status().picture(), refresh=True)

    def _say(self, sentence: str) -> None:
        self._live.console.print(sentence, markup=False)


def _name(batch: Batch) -> str:
    return batch[0].name if len(batch) == 1 else f"{batch[0].name} and {len(batch) - 1} more"


def _rest(number: int, what: str) -> list[Text]:
    return [Text(f"… and {number - _SHOWN} more {what}", style="dim")] if number > _SHOWN else []
