"""Save the best policy of a training by its metrics, in a separate file.

An epoch has few episodes, so that the best of many epochs was also lucky. `final_policy="selected"` compares the last
policies on validation scenes instead, and keeps the best one.
"""

import math
from collections.abc import Sequence
from pathlib import Path

from ascpo.runs.callbacks.callback import EpochRecord, TrainingPlan
from ascpo.runs.callbacks.early_stopping import Metric, metric_of
from ascpo.runs.tables import Row, as_written

BEST = "policy-best.safetensors"
_NONE = (float("-inf"), float("-inf"))


class SaveBest:
    """A callback that keeps the best policy so far in the run's directory, as `policy-best.safetensors`.

    Without a metric, the best policy has the largest return of those that reach the target probability, or is the
    safest if none does. A metric is a column of `metrics.csv` or a function of its row. Larger is better.
    """

    def __init__(self, metric: Metric | None = None) -> None:
        self._metric = metric
        self._target = 1.0
        self._best: dict[Path, tuple[float, float]] = {}

    def on_training_start(self, plan: TrainingPlan) -> None:
        self._target = plan.config.settings.probability
        self._best = dict.fromkeys(plan.directories, _NONE)
        for path, rows in plan.earlier().items():
            # If somebody removed the file, the next epoch writes one.
            if rows and (path / BEST).exists():
                self._best[path] = max(map(self._score, rows))

    def on_epoch_end(self, epochs: Sequence[EpochRecord]) -> None:
        for epoch in epochs:
            score = self._score(as_written(epoch.metrics))
            if score > self._best[epoch.directory]:
                self._best[epoch.directory] = score
                epoch.save_policy(epoch.directory / BEST)

    def on_training_end(self) -> None: ...

    def _score(self, row: Row) -> tuple[float, float]:
        if self._metric is None:
            return min(row["SafeRate"], self._target), row["EpRet"]
        value = metric_of(self._metric, row)
        return _NONE if math.isnan(value) else (value, 0.0)
