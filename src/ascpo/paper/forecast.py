"""Estimates of the time of an experiment's missing runs: one after another on the host, or in batches on GPUs."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, cached_property

from ascpo.paper.experiments import Experiment, Training
from ascpo.paper.results import PaperStore
from ascpo.runs.config import Config, EngineName
from ascpo.sweep.estimate import Estimate
from ascpo.sweep.executors.gpu_sharing import MOST_BATCHES

_BATCH = 12
"""Runs of a suite in a batch on a GPU: the number of algorithms in the paper, for which speeds were measured."""


@dataclass(frozen=True)
class Forecast:
    """The missing runs of an experiment, and their estimated time."""

    experiment: Experiment
    store: PaperStore
    estimate: Estimate

    @cached_property
    def trainings(self) -> list[Training]:
        return list({training.name: training for training in self.experiment.trainings()}.values())

    @cached_property
    def missing(self) -> list[Training]:
        return [training for training in self.trainings if not self.store.has(self.experiment, training)]

    @property
    def finished(self) -> int:
        return len(self.trainings) - len(self.missing)

    def seconds(self) -> float:
        """The time on the host, one run after another."""
        return sum(self._by_suite("native").values())

    def seconds_on_gpus(self, gpus: int) -> float:
        """The time on GPUs with several batches at the same time each. An experiment that measures time has a GPU to
        itself."""
        counts, times = Counter(training.suite for training in self.missing), self._on_a_gpu
        if self.experiment.isolated:
            return sum(times.values())
        batches = [times[suite] / counts[suite] * runs for suite in counts for runs in _batches(counts[suite])]
        return time_on(gpus * MOST_BATCHES, batches)

    @cached_property
    def _on_a_gpu(self) -> dict[str, float]:
        return self._by_suite("mjx-warp")

    def _by_suite(self, engine: EngineName) -> dict[str, float]:
        """Seconds of all missing runs of a suite."""
        # Runs that differ only in their seed take the same time.
        found = defaultdict[str, float](float)
        for training, runs in Counter(replace(training, seed=0) for training in self.missing).items():
            found[training.suite] += runs * self.estimate.seconds(_config(training, self.store.scale, engine))
        return found


@cache
def _config(training: Training, scale: float, engine: EngineName) -> Config:
    """Experiments share runs, and a config is checked from top to bottom when it is made."""
    return training.config(scale, engine=engine)


def time_on(places: int, batches: Iterable[float]) -> float:
    """The time until the last batch ends, if the longest waiting batch starts whenever a place is free."""
    ends = [0.0] * places
    for seconds in sorted(batches, reverse=True):
        heapq.heapreplace(ends, ends[0] + seconds)
    return max(ends)


def _batches(runs: int) -> list[int]:
    """The sizes of the batches for this number of runs."""
    return [_BATCH] * (runs // _BATCH) + [runs % _BATCH] * (runs % _BATCH > 0)
