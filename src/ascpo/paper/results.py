"""The runs of the paper's experiments, and the numbers that they yield.

A run is kept in OUT/scale-0.1/Point-8-Hazard-ascpo-seed0, so that runs of different lengths never mix. With the paper's
or the released settings its name says so: Point-8-Hazard-ascpo-released-seed0. Runs whose time and memory are measured
are kept apart, in OUT/scale-0.1/alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np

from ascpo.paper.columns import COLUMNS, OURS, Column
from ascpo.paper.experiments import Experiment, Training, Variant, steps_at
from ascpo.paper.exported import Exported, RunKey, check_exported, read_exported
from ascpo.paper.printed import LOGGED, RHO_C
from ascpo.ranges import Range, check
from ascpo.runs.config import Config
from ascpo.runs.directory import RunDirectory
from ascpo.runs.files import read_json
from ascpo.runs.serialization import differences
from ascpo.runs.tables import read_table
from ascpo.sweep.estimate import epoch_seconds
from ascpo.sweep.evaluation import FixedStarts, HeldOutEpisodes, costs_by_start, episode_costs
from ascpo.sweep.store import Store, is_finished

Numbers = Mapping[str, np.ndarray]
"""By measure, one number for each seed (or, for fixed starts, for each start)."""
Samples = Mapping[tuple[str, str], Numbers]
"""By suite and variant."""
Log = Mapping[str, np.ndarray]
"""The columns of a metrics.csv."""


@dataclass(frozen=True)
class Place:
    """Where the runs of one scale are."""

    out: Path = Path("runs/paper")
    """Directory of the runs."""
    scale: Annotated[float, Range(above=0.0, at_most=1000.0)] = 1.0
    """Length of the runs, as a fraction of the paper's 6 million steps. Each scale has a directory of its own."""

    def __post_init__(self) -> None:
        check(self)

    @property
    def path(self) -> Path:
        return self.out / f"scale-{self.scale:g}"


@dataclass(frozen=True)
class PaperStore(Place):
    """The runs of one scale."""

    results: Path | None = None
    """Directory that `show --export` wrote. Its finished runs count as well, without their run directories."""

    @property
    def figures(self) -> Path:
        return self.out / "figures" / f"scale-{self.scale:g}"

    def of(self, experiment: Experiment) -> Store:
        return Store(self.path / "alone" if experiment.isolated else self.path)

    def run(self, experiment: Experiment, training: Training) -> RunDirectory:
        return self.of(experiment).run(training.name)

    def seeds(self, experiment: Experiment, suite: str, variant: Variant, column: Column = OURS) -> list[int]:
        """The seeds of all runs that exist: the experiment's own and others."""
        return self.of(experiment).seeds(variant.run_name(suite, column))

    def finished(
        self, experiment: Experiment, suite: str, variant: Variant, column: Column = OURS
    ) -> list[RunDirectory]:
        return self.of(experiment).finished(variant.run_name(suite, column))

    @cached_property
    def exported(self) -> Exported:
        """The runs in `results`."""
        if self.results is None:
            return Exported()
        found = read_exported(self.results)
        check_exported(found, self.results, steps=steps_at(self.scale))
        return found

    def only_exported(self, experiment: Experiment, suite: str, variant: Variant, column: Column) -> list[RunKey]:
        """Finished runs in `results` that have no directory."""
        if experiment.isolated:
            return []
        kept = {run.path.name for run in self.finished(experiment, suite, variant, column)}
        keys = [key for key in self.exported.finished() if key[:3] == (suite, variant.name, column)]
        return [key for key in keys if Training(suite, variant, key.seed, column).name not in kept]

    def logs(self, experiment: Experiment, suite: str, variant: Variant, column: Column) -> list[Log]:
        """The logs of all finished runs."""
        runs = self.finished(experiment, suite, variant, column)
        others = self.only_exported(experiment, suite, variant, column)
        logs: list[Log] = [read_table(run.metrics) for run in runs]
        return logs + [self.exported.log(key) for key in others if key in self.exported.curves]

    def episode_costs(self, experiment: Experiment, suite: str, variant: Variant, column: Column) -> list[np.ndarray]:
        """The costs of held-out episodes, of each finished run that has any."""
        found = map(episode_costs, self.finished(experiment, suite, variant, column))
        others = self.only_exported(experiment, suite, variant, column)
        kept = (self.exported.episodes.get(key, {}).get("") for key in others)
        return [costs for costs in (*found, *kept) if costs is not None]

    def costs_by_start(
        self, experiment: Experiment, suite: str, variant: Variant, column: Column
    ) -> dict[int, np.ndarray] | None:
        """The costs of the episodes from each fixed start, of the first finished run that has any."""
        for run in self.finished(experiment, suite, variant, column):
            if (costs := costs_by_start(run)) is not None:
                return costs
        for key in self.only_exported(experiment, suite, variant, column):
            if found := {start: costs for start, costs in self.exported.episodes.get(key, {}).items() if start}:
                return {int(start): costs for start, costs in found.items()}
        return None

    def has(self, experiment: Experiment, training: Training) -> bool:
        """Whether a run is finished and has episodes: any number of them, and with any settings."""
        run = self.run(experiment, training)
        evaluation = experiment.evaluation
        if is_finished(run):
            return evaluation is None or (run.path / evaluation.file).exists()
        return self.is_exported(experiment, training)

    def is_exported(self, experiment: Experiment, training: Training) -> bool:
        """Whether all that the experiment needs of a run is in `results`."""
        key = RunKey.of(training)
        if experiment.isolated or key not in self.exported.finished():
            return False
        if experiment.evaluation is None:
            return True
        starts = set(self.exported.episodes.get(key, ()))
        return bool(starts - {""} if isinstance(experiment.evaluation, FixedStarts) else starts & {""})


def gather(
    store: PaperStore, experiment: Experiment, last: int = 1, column: Column = OURS
) -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """The numbers of all finished runs of a column. J_r and M_c are means of the last epochs, ρ_c is the last one's."""
    out = {}
    if store.results is not None:
        check_exported(store.exported, store.results, steps=steps_at(store.scale), last=last)
    for suite, variant in product(experiment.suites, experiment.variants):
        runs = store.finished(experiment, suite, variant, column)
        rows = [_numbers(run, experiment, last) for run in runs]
        rows += [_exported(store, experiment, key) for key in store.only_exported(experiment, suite, variant, column)]
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: np.array([row.get(name, np.nan) for row in rows]) for name in names}
        numbers = {name: column[~np.isnan(column)] for name, column in columns.items()}
        if isinstance(experiment.evaluation, FixedStarts):
            numbers |= _by_start(store.costs_by_start(experiment, suite, variant, column))
        if numbers:
            out[suite, variant.name] = numbers
    return out


def gather_columns(store: PaperStore, experiment: Experiment, last: int = 1) -> dict[Column, Samples]:
    """The numbers by column, without columns that have no finished runs."""
    out: dict[Column, Samples] = {}
    for column in COLUMNS:
        if samples := gather(store, experiment, last, column):
            out[column] = samples
    return out


def configs_of(store: PaperStore, experiment: Experiment, trainings: Iterable[Training]) -> dict[Training, Config]:
    """The configs of the runs that exist."""
    runs = {training: store.run(experiment, training) for training in trainings}
    return {training: run.config() for training, run in runs.items() if run.config_file.exists()}


def overridden(configs: Mapping[Training, Config], scale: float) -> dict[str, tuple[object, object]]:
    """Settings of the runs that differ from their column's: name → (the column's, the run's)."""
    out: dict[str, tuple[object, object]] = {}
    for training, found in configs.items():
        usual = training.config(scale)
        out |= differences(usual.settings, found.settings)
        out |= {f"{found.algo}.{name}": both for name, both in differences(usual.method, found.method).items()}
    return out


def typed(value: object) -> str:
    """A setting's value as on the command line."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def typed_overrides(training: Training, config: Config, scale: float) -> str:
    """The overridden settings of a run, as on the command line."""
    changed = overridden({training: config}, scale)
    return " ".join(f"{name}={typed(now)}" for name, (_, now) in changed.items())


def _numbers(run: RunDirectory, experiment: Experiment, last: int) -> dict[str, float]:
    log = read_table(run.metrics)
    out = {m.name: float(np.mean(values[-last:])) for m in LOGGED if len(values := m.of_log(log))}
    if RHO_C.name in out:
        out[RHO_C.name] = float(log[RHO_C.column][-1])
    if isinstance(experiment.evaluation, HeldOutEpisodes) and (costs := episode_costs(run)) is not None:
        out["cost"] = float(costs.mean())
    return out | (_resources(run) if experiment.isolated else {})


def _resources(run: RunDirectory) -> dict[str, float]:
    file = run.path / "resources.json"
    peaks = read_json(file) if file.exists() else {}
    found = {"seconds": epoch_seconds(run), "memory": peaks.get("PeakMemory"), "device": peaks.get("PeakDeviceMemory")}
    return {name: float(value) for name, value in found.items() if value}


def _exported(store: PaperStore, experiment: Experiment, key: RunKey) -> dict[str, float]:
    costs = store.exported.episodes.get(key, {}).get("")
    numbers = store.exported.numbers(key)
    if isinstance(experiment.evaluation, HeldOutEpisodes) and costs is not None:
        numbers |= {"cost": float(costs.mean())}
    return numbers


def _by_start(costs: Mapping[int, np.ndarray] | None) -> dict[str, np.ndarray]:
    """The mean cost from each fixed start."""
    return {"start": np.array([costs[start].mean() for start in sorted(costs)])} if costs else {}
