"""The display of a training: a table of the last epochs and a progress bar on a terminal, else a line per epoch."""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from ascpo.runs.callbacks.callback import EpochRecord, TrainingPlan
from ascpo.runs.environment_name import is_suite
from ascpo.runs.tables import Row

_SHOWN = 10
"""Number of epochs in the table."""


class Display:
    """A callback that displays the progress."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._rows: deque[Row] = deque(maxlen=_SHOWN)
        self._seconds: deque[float] = deque(maxlen=20)
        self._epochs = 0
        self._always_by_time = False
        """Whether all episodes so far ended by their time limit, in an environment where that may be the normal end."""
        self._live: Live | None = None
        self._bar = Progress(
            TextColumn("epoch"), MofNCompleteColumn(), BarColumn(None), TextColumn("{task.fields[left]}"),
            TimeElapsedColumn(), expand=True,
        )  # fmt: skip

    def on_training_start(self, plan: TrainingPlan) -> None:
        first, *rest = plan.sentences()
        self._console.print(first, style="bold", markup=False)
        for sentence in rest:
            self._console.print(sentence, markup=False)
        self._epochs = plan.config.epochs
        self._always_by_time = not is_suite(plan.config.env)
        self._task = self._bar.add_task(
            "", total=self._epochs, completed=plan.epochs_done, left="compiling the first epoch"
        )
        if self._console.is_terminal:
            self._live = Live(self._picture(), console=self._console, refresh_per_second=4)
            self._live.start()

    def on_epoch_end(self, epochs: Sequence[EpochRecord]) -> None:
        """Several runs are shown as their mean."""
        row, timing = _mean([epoch.metrics for epoch in epochs]), _mean([epoch.timing for epoch in epochs])
        self._always_by_time = self._always_by_time and row["TimeoutRate"] >= 1.0
        row |= {_ALWAYS: float(self._always_by_time)}
        timing |= {name: len(epochs) * value for name, value in timing.items() if name in _SHARED}
        self._rows.append(row | timing)
        done = int(row["Epoch"]) + 1
        # The first epoch includes compilation, so later epochs give the better estimate.
        self._seconds.append(sum(timing[name] for name in timing if name.startswith("Time")))
        later = list(self._seconds)[1:] or list(self._seconds)
        left = f"{_duration(sum(later) / len(later) * (self._epochs - done))} left"
        self._bar.update(self._task, completed=done, left=left)
        if self._live is not None:
            self._live.update(self._picture())
        else:
            cells = "  ".join(f"{title} {show(row | timing)}" for title, show in _COLUMNS.items() if title != "epoch")
            self._console.print(f"{done:>4}/{self._epochs}  {cells}  {left}", soft_wrap=True, markup=False)

    def on_training_end(self) -> None:
        if self._live is not None:
            self._live.stop()

    def _picture(self) -> Group:
        table = Table(box=None, header_style="bold", expand=True, padding=(0, 1))
        for title in _COLUMNS:
            table.add_column(title, justify="right")
        for row in self._rows:
            table.add_row(*(show(row) for show in _COLUMNS.values()))
        return Group(table, self._bar)


@contextlib.contextmanager
def counting(what: str, total: int, *, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """A progress bar. It yields a function that sets the number of items that are done."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    hidden = not (shown and console.is_terminal)
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        bar = progress.add_task(what, total=total)
        yield lambda done: progress.update(bar, completed=done)


def _mean(rows: Sequence[Row]) -> Row:
    common = [name for name in rows[0] if all(name in row for row in rows)]
    return {name: sum(row[name] for row in rows) / len(rows) for name in common}


_SHARED = ("TimeRollout", "TimeEstimates", "TimePolicy", "TimeCritics", "TimeOther", "TimeSaved", "StepsPerSecond")
"""Columns that runs share, so that the table of each run has its part of them."""
_ALWAYS = "AlwaysByTime"
_COLUMNS = {
    "epoch": lambda row: f"{row['Epoch'] + 1:.0f}",
    "EpRet": lambda row: f"{row['EpRet']:.3f}",
    "EpCost": lambda row: f"{row['EpCost']:.4f}",
    "EpMaxCost": lambda row: f"{row['EpMaxCost']:.4f}",
    "WorstCost": lambda row: f"{row['WorstCost']:.3f}",
    "SafeRate": lambda row: f"{row['SafeRate']:.1%}",
    "TimeoutRate": lambda row: "always" if row[_ALWAYS] else f"{row['TimeoutRate']:.1%}",
    "steps/s": lambda row: f"{row['StepsPerSecond']:,.0f}",
}
"""Title → function that formats a row."""


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
