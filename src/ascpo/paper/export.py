"""All runs as two small tables for other programs: final values (`runs.csv`) and learning curves (`curves.csv`)."""

from collections.abc import Iterable, Mapping
from itertools import pairwise, product
from pathlib import Path

import numpy as np

from ascpo.paper.experiments import Experiment, Training
from ascpo.paper.printed import J_R, M_C, RHO_C
from ascpo.paper.results import PaperStore
from ascpo.paper.tables import write_rows
from ascpo.runs.directory import NoRun, RunDirectory
from ascpo.runs.tables import read_table
from ascpo.sweep.estimate import epoch_seconds

POINTS = 40
"""The most points of a curve."""
_MEANS = {"J_r": J_R.column, "M_c": M_C.column}
"""A point of these is the mean over the epochs since the previous point. ρ_c is a mean since the start anyway."""

Row = dict[str, str | int]


def export(folder: Path, store: PaperStore, experiments: Iterable[Experiment], last: int = 1) -> list[Path]:
    """Write both tables. They include unfinished runs, whose `steps` are below `total_steps`."""
    runs: list[Row] = []
    curves: list[Row] = []
    for training, run in _runs(store, experiments).items():
        log = read_table(run.metrics)
        if not len(log.get("Epoch", ())):
            continue
        about: Row = {"suite": training.suite, "algorithm": training.variant.name, "seed": training.seed}
        runs.append(about | _end(run, log, last))
        curves += [about | point for point in _curve(log)]
    tables = {folder / "runs.csv": runs, folder / "curves.csv": curves}
    for file, rows in tables.items():
        write_rows(file, rows)
    return list(tables)


def _runs(store: PaperStore, experiments: Iterable[Experiment]) -> dict[Training, RunDirectory]:
    """Each run once, even if several experiments use it."""
    found: dict[Training, RunDirectory] = {}
    for experiment in experiments:
        for suite, variant in product(experiment.suites, experiment.variants):
            for seed in store.seeds(experiment, suite, variant):
                training = Training(suite, variant, seed)
                run = store.run(experiment, training)
                if run.metrics.exists():
                    found.setdefault(training, run)
    return found


def _end(run: RunDirectory, log: Mapping[str, np.ndarray], last: int) -> Row:
    try:
        config = run.config()
    except (NoRun, OSError):
        config = None
    seconds = epoch_seconds(run)
    return {
        "engine": config.engine if config else "",
        "steps": int(log["TotalEnvInteracts"][-1]),
        "total_steps": config.total_steps if config else "",
        **_figures(log, slice(-last, None)),
        "seconds_per_epoch": "" if seconds is None else _short(seconds),
    }


def _curve(log: Mapping[str, np.ndarray]) -> list[Row]:
    """Evenly spaced points; the last one is the last epoch."""
    epochs = len(log["Epoch"])
    ends = np.linspace(0, epochs, min(POINTS, epochs) + 1).round()
    return [
        {"steps": int(log["TotalEnvInteracts"][b - 1]), **_figures(log, slice(a, b))}
        for a, b in pairwise(map(int, ends))
    ]


def _figures(log: Mapping[str, np.ndarray], epochs: slice) -> Row:
    means: Row = {name: _short(np.mean(log[column][epochs])) for name, column in _MEANS.items()}
    return means | {"rho_c": _short(log[RHO_C.column][epochs][-1])}


def _short(value: float | np.floating) -> str:
    return f"{value:.5g}"
