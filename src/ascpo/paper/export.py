"""Export runs as small tables, for other programs and for `show --results`.

runs.csv      the final values of every run
curves.csv    learning curves of at most 40 points
episodes.csv  the cost of every episode after training, if the experiment plays any: held-out ones, or by fixed start
summary.csv   over the seeds: mean, worst and standard deviation at the end (`part` is end), and at ten earlier points
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise, product
from pathlib import Path

import numpy as np

from ascpo.paper.columns import COLUMNS
from ascpo.paper.experiments import Experiment, Training, steps_at
from ascpo.paper.exported import CURVES, EPISODES, RUNS, Exported, Row, RunKey, check_exported, read_exported
from ascpo.paper.printed import LOGGED, RHO_C
from ascpo.paper.results import PaperStore, typed_overrides
from ascpo.paper.tables import rows_text
from ascpo.runs.directory import NoRun, RunDirectory
from ascpo.runs.files import write_together, writing
from ascpo.runs.tables import read_table
from ascpo.sweep.estimate import epoch_seconds
from ascpo.sweep.evaluation import costs_by_start, episode_costs

SUMMARY = "summary.csv"
POINTS, FEW_POINTS = 40, 10
"""The most points of a curve, and of a curve in the summary."""


def export(folder: Path, store: PaperStore, experiments: Iterable[Experiment], last: int = 1) -> list[Path]:
    """Write the tables. They include unfinished runs, whose `steps` are below `total_steps`.

    Runs that are in the folder from an earlier call stay, unless the same run now has a log that is not shorter. So
    results grow over several calls, even after the run directories of earlier ones were deleted.
    """
    before = Exported()
    if (folder / RUNS).exists():
        before = read_exported(folder)
        check_exported(before, folder, steps=steps_at(store.scale), last=last)
    runs, curves, episodes = dict(before.runs), dict(before.curves), dict(before.episodes)
    for training, run in _runs(store, experiments).items():
        log = read_table(run.metrics)
        if not len(log.get("Epoch", ())):
            continue
        key = RunKey.of(training)
        end = _end(run, training, log, last, store.scale)
        if key not in runs or int(end["steps"]) >= int(runs[key]["steps"]):
            earlier = episodes.get(key, {}) if _have_same_figures(runs.get(key, {}), end) else {}
            runs[key], curves[key] = key.row() | end, [key.row() | point for point in _curve(log)]
            episodes[key] = {**earlier, **_episodes(run)}
    kept = Exported(runs, curves, episodes)
    tables = {
        folder / RUNS: list(runs.values()),
        folder / CURVES: [row for rows in curves.values() for row in rows],
        folder / EPISODES: [
            key.row() | {"start": start, "costs": " ".join(map(_short, costs))}
            for key, by_start in episodes.items()
            for start, costs in by_start.items()
        ],
        folder / SUMMARY: summary(kept),
    }
    written = {file: rows for file, rows in tables.items() if rows or file.name != EPISODES}
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    # Earlier results may be the only ones of their runs. So no file is replaced before all are written, and the file of
    # the runs is the last one.
    write_together({file: rows_text(written[file]) for file in reversed(written)})
    return list(written)


def _have_same_figures(one: Row, other: Row) -> bool:
    """Whether two rows are of the same training. The episodes of another one belong to another policy."""
    names = ("steps", *(measure.key for measure in LOGGED))
    return all((one.get(name) or "") == (other.get(name) or "") for name in names)


def _episodes(run: RunDirectory) -> dict[str, np.ndarray]:
    """The costs of a run's episodes after training, by start."""
    held_out = episode_costs(run)
    starts = costs_by_start(run) or {}
    return ({} if held_out is None else {"": held_out}) | {str(start): costs for start, costs in starts.items()}


def summary(exported: Exported) -> list[Row]:
    """The finished runs over their seeds: at a few points, and at the end."""
    groups: dict[tuple[str, ...], list[RunKey]] = {}
    for key in exported.finished():
        groups.setdefault(key[:3], []).append(key)
    out: list[Row] = []
    for keys in groups.values():
        about = {name: value for name, value in keys[0].row().items() if name != "seed"}
        curves = [exported.curves.get(key, ()) for key in keys]
        length = min(map(len, curves))
        # Curves with different numbers of points have their values at different steps.
        ends = np.linspace(0, length, min(FEW_POINTS, length) + 1).round().astype(int)[1:] if length else ()
        same = all(len(curve) == length for curve in curves)
        for i in ends if same else ():
            out.append(about | {"part": "curve"} | _over_seeds([curve[i - 1] for curve in curves]))
        out.append(about | {"part": "end"} | _over_seeds([exported.runs[key] for key in keys]))
    return out


def _over_seeds(rows: list[Row]) -> Row:
    out: Row = {"steps": rows[0]["steps"], "seeds": str(len(rows))}
    for measure in LOGGED:
        x = np.array([float(row[measure.key]) for row in rows if row.get(measure.key)])
        three = [x.mean(), measure.worst(x), x.std(ddof=1) if len(x) > 1 else 0.0] if len(x) else [None] * 3
        names = (f"{measure.key}_{what}" for what in ("mean", "worst", "deviation"))
        out |= {name: "" if value is None else _short(value) for name, value in zip(names, three, strict=True)}
    return out


def _runs(store: PaperStore, experiments: Iterable[Experiment]) -> dict[Training, RunDirectory]:
    """Each run once, even if several experiments use it."""
    found: dict[Training, RunDirectory] = {}
    for experiment in experiments:
        for suite, column, variant in product(experiment.suites, COLUMNS, experiment.variants):
            for seed in store.seeds(experiment, suite, variant, column):
                training = Training(suite, variant, seed, column)
                run = store.run(experiment, training)
                if run.metrics.exists():
                    found.setdefault(training, run)
    return found


def _end(run: RunDirectory, training: Training, log: Mapping[str, np.ndarray], last: int, scale: float) -> Row:
    try:
        config = run.config()
    except (NoRun, OSError):
        config = None
    seconds = epoch_seconds(run)
    return {
        "engine": config.engine if config else "",
        "steps": str(int(log["TotalEnvInteracts"][-1])),
        "total_steps": str(config.total_steps) if config else "",
        "last": str(last),
        **_figures(log, slice(-last, None)),
        "seconds_per_epoch": "" if seconds is None else _short(seconds),
        "overridden": typed_overrides(training, config, scale) if config else "",
    }


def _curve(log: Mapping[str, np.ndarray]) -> list[Row]:
    """Evenly spaced points; the last one is the last epoch."""
    epochs = len(log["Epoch"])
    ends = np.linspace(0, epochs, min(POINTS, epochs) + 1).round()
    return [
        {"steps": str(int(log["TotalEnvInteracts"][b - 1])), **_figures(log, slice(a, b))}
        for a, b in pairwise(map(int, ends))
    ]


def _figures(log: Mapping[str, np.ndarray], epochs: slice) -> Row:
    """Means over the epochs since the previous point. ρ_c is a mean since the start anyway."""
    values = {m: m.of_log(log)[epochs] for m in LOGGED if m.column in log}
    return {m.key: _short(x[-1] if m == RHO_C else np.mean(x)) for m, x in values.items()}


def _short(value: float | np.floating) -> str:
    return f"{value:.5g}"
