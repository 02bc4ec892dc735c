"""What runs have to say, a number a seed: by suite and variant, then by the name of the measure."""

import json
from collections.abc import Callable, Mapping

import numpy as np

from ascpo.paper.experiments import Experiment
from ascpo.paper.published import MEASURES
from ascpo.runs.directory import RunDirectory
from ascpo.runs.tables import read_table
from ascpo.sweep.estimate import epoch_seconds
from ascpo.sweep.evaluation import costs_by_start, episode_costs
from ascpo.sweep.store import Shelf

Numbers = Mapping[str, np.ndarray]
"""By measure, a number a seed (or, for starts, a number a start)."""
Samples = Mapping[tuple[str, str], Numbers]
"""By suite and variant."""


def gather(shelf: Shelf, experiment: Experiment, last: int = 1) -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """Of all runs that came to their end. J_r and M_c are means of the last epochs, ρ_c is of the last one."""
    readers: list[Callable[[RunDirectory], dict[str, float]]] = [lambda run: _logged(run, last)]
    readers += [_played] if experiment.play == "fresh" else [_measured] if experiment.alone else []
    out = {}
    for suite in experiment.suites:
        for variant in experiment.variants:
            rows = [
                {name: value for reader in readers for name, value in reader(run).items()}
                for run in shelf.finished(experiment, suite, variant)
            ]
            numbers = {name: _known([row.get(name, np.nan) for row in rows]) for name in _names(rows)}
            if experiment.play == "starts":
                numbers |= _from_starts(shelf, experiment, suite, variant.name)
            if numbers:
                out[suite, variant.name] = numbers
    return out


def _names(rows: list[dict[str, float]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _known(values: list[float]) -> np.ndarray:
    array = np.array(values, float)
    return array[~np.isnan(array)]


def _logged(run: RunDirectory, last: int) -> dict[str, float]:
    log = read_table(run.metrics)
    out = {m.name: float(np.mean(log[m.column][-last:])) for m in MEASURES if m.column in log and len(log[m.column])}
    return out | {"ρ_c": float(log["CostRate"][-1])} if out else {}


def _played(run: RunDirectory) -> dict[str, float]:
    costs = episode_costs(run)
    return {} if costs is None else {"cost": float(costs.mean()), "largest": float(costs.max())}


def _measured(run: RunDirectory) -> dict[str, float]:
    out: dict[str, float] = {}
    if (seconds := epoch_seconds(run)) is not None:
        out["seconds"] = seconds
    file = run.path / "resources.json"
    peaks = json.loads(file.read_text()) if file.exists() else {}
    for name, key in (("memory", "PeakMemory"), ("device", "PeakDeviceMemory")):
        if peaks.get(key):
            out[name] = float(peaks[key])
    return out


def _from_starts(shelf: Shelf, experiment: Experiment, suite: str, variant: str) -> dict[str, np.ndarray]:
    """Mean costs from each start, of the first run that was played."""
    for run in shelf.finished(experiment, suite, experiment.variant(variant)):
        if (costs := costs_by_start(run)) is not None:
            return {"start": np.array([costs[start].mean() for start in sorted(costs)])}
    return {}
