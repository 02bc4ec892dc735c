"""The runs of the paper's experiments, and the numbers that they yield.

A run is kept in OUT/scale-0.1/Point-8-Hazard-ascpo-seed0, so that runs of different lengths never mix. Runs whose time
and memory are measured are kept apart, in OUT/scale-0.1/alone.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from ascpo.paper.experiments import Experiment, Training, Variant
from ascpo.paper.printed import MEASURES, RHO_C
from ascpo.runs.directory import RunDirectory
from ascpo.runs.serialization import BadSetting
from ascpo.runs.tables import read_table
from ascpo.sweep.estimate import epoch_seconds
from ascpo.sweep.evaluation import FixedStarts, HeldOutEpisodes, costs_by_start, episode_costs
from ascpo.sweep.store import Store, is_finished

Numbers = Mapping[str, np.ndarray]
"""By measure, one number for each seed (or, for fixed starts, for each start)."""
Samples = Mapping[tuple[str, str], Numbers]
"""By suite and variant."""


@dataclass(frozen=True)
class PaperStore:
    """The runs of one scale."""

    out: Path = Path("runs/paper")
    """Directory of the runs."""
    scale: float = 1.0
    """Length of the runs, as a fraction of the paper's 6 million steps. Each scale has a directory of its own."""

    def __post_init__(self) -> None:
        if not self.scale > 0:
            raise BadSetting(f"scale={self.scale} must be a positive fraction of the paper's steps, for example 0.1.")

    @property
    def path(self) -> Path:
        return self.out / f"scale-{self.scale:g}"

    @property
    def figures(self) -> Path:
        return self.out / "figures" / f"scale-{self.scale:g}"

    def of(self, experiment: Experiment) -> Store:
        return Store(self.path / "alone" if experiment.isolated else self.path)

    def run(self, experiment: Experiment, training: Training) -> RunDirectory:
        return self.of(experiment).run(training.name)

    def seeds(self, experiment: Experiment, suite: str, variant: Variant) -> list[int]:
        """The seeds of all runs that exist: the experiment's own and others."""
        return self.of(experiment).seeds(f"{suite}-{variant.name}")

    def finished(self, experiment: Experiment, suite: str, variant: Variant) -> list[RunDirectory]:
        return self.of(experiment).finished(f"{suite}-{variant.name}")

    def has(self, experiment: Experiment, training: Training) -> bool:
        """Whether a run is finished and has episodes: any number of them, and with any settings."""
        run = self.run(experiment, training)
        evaluation = experiment.evaluation
        return is_finished(run) and (evaluation is None or (run.path / evaluation.file).exists())


def gather(store: PaperStore, experiment: Experiment, last: int = 1) -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """The numbers of all finished runs. J_r and M_c are means of the last epochs, ρ_c is that of the last epoch."""
    out = {}
    for suite, variant in product(experiment.suites, experiment.variants):
        runs = store.finished(experiment, suite, variant)
        rows = [_numbers(run, experiment, last) for run in runs]
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: np.array([row.get(name, np.nan) for row in rows]) for name in names}
        numbers = {name: column[~np.isnan(column)] for name, column in columns.items()}
        if isinstance(experiment.evaluation, FixedStarts):
            numbers |= _by_start(runs)
        if numbers:
            out[suite, variant.name] = numbers
    return out


def _numbers(run: RunDirectory, experiment: Experiment, last: int) -> dict[str, float]:
    log = read_table(run.metrics)
    out = {m.name: float(np.mean(log[m.column][-last:])) for m in MEASURES if len(log.get(m.column, ()))}
    if out:
        out[RHO_C.name] = float(log[RHO_C.column][-1])
    if isinstance(experiment.evaluation, HeldOutEpisodes) and (costs := episode_costs(run)) is not None:
        out["cost"] = float(costs.mean())
    return out | (_resources(run) if experiment.isolated else {})


def _resources(run: RunDirectory) -> dict[str, float]:
    file = run.path / "resources.json"
    peaks = json.loads(file.read_text()) if file.exists() else {}
    found = {"seconds": epoch_seconds(run), "memory": peaks.get("PeakMemory"), "device": peaks.get("PeakDeviceMemory")}
    return {name: float(value) for name, value in found.items() if value}


def _by_start(runs: list[RunDirectory]) -> dict[str, np.ndarray]:
    """The mean cost from each fixed start, of the first run that has episodes."""
    for run in runs:
        if (costs := costs_by_start(run)) is not None:
            return {"start": np.array([costs[start].mean() for start in sorted(costs)])}
    return {}
