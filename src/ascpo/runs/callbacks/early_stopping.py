"""Early stopping: a training ends when it no longer improves, or when your own function decides so.

Decisions depend only on the rows of `metrics.csv`, with the digits that they have there. So a run that was interrupted
and resumed with the same callback ends after the same epoch.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from ascpo.runs.callbacks.callback import EpochRecord, TrainingPlan
from ascpo.runs.serialization import BadSetting
from ascpo.runs.tables import Row, as_written

Metric = str | Callable[[Row], float]
"""A column of `metrics.csv`, or a function of its row."""


def metric_of(metric: Metric, row: Row) -> float:
    """The value of a metric in a row."""
    if callable(metric):
        return float(metric(row))
    if metric not in row:
        raise BadSetting(f"There is no column {metric!r} in metrics.csv. It has: {', '.join(row)}.")
    return row[metric]


class StopWhen:
    """A callback that stops the training when a function of a row of `metrics.csv` returns True.

    Runs that train at the same time stop when the function has returned True for each of them.
    """

    def __init__(self, says_stop: Callable[[Row], bool]) -> None:
        self._says_stop = says_stop
        self._waiting: set[Path] = set()
        """Runs for which the function has not returned True yet."""

    def on_training_start(self, plan: TrainingPlan) -> bool:
        self._waiting = set(plan.directories)
        for path, rows in plan.earlier().items():
            for row in rows:
                self._look(path, row)
        return bool(self._waiting)

    def on_epoch_end(self, epochs: Sequence[EpochRecord]) -> bool:
        for epoch in epochs:
            self._look(epoch.directory, as_written(epoch.metrics))
        return bool(self._waiting)

    def on_training_end(self) -> None: ...

    def _look(self, path: Path, row: Row) -> None:
        if self._says_stop(row):
            self._waiting.discard(path)


class EarlyStopping:
    """A callback that stops the training when a metric has not improved for some epochs.

    Runs that train at the same time stop when none of them has improved for so long.
    """

    def __init__(
        self,
        metric: Metric = "EpRet",
        patience: int = 20,
        *,
        min_delta: float = 0.0,
        mode: Literal["max", "min"] = "max",
    ) -> None:
        if patience < 1 or not min_delta >= 0.0 or mode not in ("max", "min"):
            raise BadSetting(
                f"patience={patience}, min_delta={min_delta}, mode={mode!r}: use at least one epoch, a number of at "
                f"least 0, and max or min."
            )
        self._metric, self._patience, self._min_delta = metric, patience, min_delta
        self._sign = 1.0 if mode == "max" else -1.0
        self._best: dict[Path, float] = {}
        self._waited: dict[Path, int] = {}

    def on_training_start(self, plan: TrainingPlan) -> bool:
        self._best = dict.fromkeys(plan.directories, -math.inf)
        self._waited = dict.fromkeys(plan.directories, 0)
        for path, rows in plan.earlier().items():
            for row in rows:
                self._look(path, row)
        return self._goes_on()

    def on_epoch_end(self, epochs: Sequence[EpochRecord]) -> bool:
        for epoch in epochs:
            self._look(epoch.directory, as_written(epoch.metrics))
        return self._goes_on()

    def on_training_end(self) -> None: ...

    def _look(self, path: Path, row: Row) -> None:
        value = self._sign * metric_of(self._metric, row)
        # NaN is not an improvement: every comparison with it is false.
        if value > self._best[path] + self._min_delta:
            self._best[path], self._waited[path] = value, 0
        elif self._waited[path] < self._patience:
            self._waited[path] += 1

    def _goes_on(self) -> bool:
        return any(waited < self._patience for waited in self._waited.values())
