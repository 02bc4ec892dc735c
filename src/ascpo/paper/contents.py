"""The tables, pictures and footnotes of each experiment's page."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from ascpo.paper.claims import assess, claims_of_table, tally
from ascpo.paper.columns import OURS, PRINTED, SETTINGS, Column
from ascpo.paper.comparison import ByColumn, compared_tables, mean
from ascpo.paper.drawing import draw_bars, draw_boxes, draw_curves, draw_starts
from ascpo.paper.experiments import BOX_EPISODES, FIXED_STARTS, TABLE_ALGORITHMS, Experiment
from ascpo.paper.printed import COPIES, COPIES_NOTE, FAILED_SEEDS, FLOORS, MEASURES, printed_value
from ascpo.paper.results import Log, PaperStore, Samples
from ascpo.paper.scores import assess_scores, score, score_printed, usable, value
from ascpo.paper.standing import spread, standing_notes, standing_table, standings
from ascpo.paper.tables import Cell, Page, Table

_Costs = dict[str, dict[str, np.ndarray]]
"""By suite and variant, the costs of episodes."""


def _tables(page: Page, experiment: Experiment, store: PaperStore, samples: ByColumn) -> None:
    """The tables of q1, one for each suite. A single table also has learning curves."""
    _tables_of(page, experiment, samples)
    if absent := [suite for suite in experiment.suites if suite not in _suites(samples)]:
        more = f" and {len(absent) - 4} more" if len(absent) > 4 else ""
        page.notes.append(f"No run is finished yet for {', '.join(absent[:4])}{more}.")
    page.footnotes.append(FLOORS)
    if set(COPIES) & set(experiment.suites):
        page.footnotes.append(f"* {COPIES_NOTE[0].upper()}{COPIES_NOTE[1:]}.")
    if any(suite in experiment.suites for suite, _ in FAILED_SEEDS):
        page.footnotes.append("† The printed J_r looks like the mean of a good seed and one that failed.")
    if len(experiment.suites) == 1:
        _curves(page, experiment, store, samples)
        return
    for column, found in samples.items():
        if standing := standings(found, "ascpo"):
            page.tables.append(standing_table(standing, "ascpo", _titled("ASCPO in each suite", column, samples)))
            page.footnotes += standing_notes(standing, "ascpo", spread(found))
        every = [assess(claim, found) for suite in experiment.suites for claim in claims_of_table(suite)]
        known = [one for one in every if one.has_runs]
        which = "" if list(samples) == [OURS] else f" with {SETTINGS[column]}"
        page.footnotes.append(
            f"Claims of the single tables{which} (see `ascpo paper show q1-SUITE`): {tally(known)}, of {len(every)} in "
            f"total."
        )


def _suites(samples: ByColumn) -> set[str]:
    """The suites with runs."""
    return {suite for found in samples.values() for suite, _ in found}


def _figures(experiment: Experiment, suite: str, samples: Samples) -> Table:
    columns = {"algorithm": "", "seeds": "d"}
    for measure in MEASURES:
        columns |= {measure.title: measure.digits, f"{PRINTED} {measure.title}": measure.digits}
    rows = []
    for variant in experiment.variants:
        numbers = samples.get((suite, variant.name), {})
        row: list[Cell] = [variant.name, len(numbers.get("J_r", ()))]
        for measure in MEASURES:
            row.append(mean(numbers, measure.name, measure.scale))
            theirs = printed_value(suite, variant.name, measure)
            row.append(None if theirs is None else theirs * measure.scale)
        if (suite, variant.name) in FAILED_SEEDS and row[3] is not None:
            row[3] = f"{row[3]:.3f}†"
        rows.append(row)
    return Table(f"{suite}{'*' if suite in COPIES else ''}", columns, rows)


def _titled(title: str, column: Column, samples: ByColumn) -> str:
    """A title that names the column, unless all runs have our settings."""
    return title if list(samples) == [OURS] else f"{title}, with {SETTINGS[column]}"


def _picture(store: PaperStore, experiment: Experiment, column: Column) -> Path:
    return store.figures / (experiment.name if column == OURS else f"{experiment.name}-{column}")


def _scores(page: Page, experiment: Experiment, store: PaperStore, samples: ByColumn) -> None:
    titles = [f"{who}{name}" for name in ("ψ", "ratio", "rank") for who in ("", f"{PRINTED} ")]
    columns = {"algorithm": "", "suites": "d", **dict.fromkeys(titles, ".2f")}
    for column, found in samples.items():
        theirs = {s.algorithm: s for s in score_printed(usable(found), TABLE_ALGORITHMS)}
        rows = []
        for one in sorted(score(found, TABLE_ALGORITHMS), key=lambda s: -value(s.psi)):
            other = theirs.get(one.algorithm)
            pairs = ((getattr(one, name), getattr(other, name, None)) for name in ("psi", "ratio", "rank"))
            rows.append([one.algorithm, one.suites, *(cell for pair in pairs for cell in pair)])
        page.tables.append(Table(_titled("Scores over the suites with runs of TRPO", column, samples), columns, rows))
        page.claims += [replace(one, column=column) for one in assess_scores(found, TABLE_ALGORITHMS)]
    page.notes.append(_about_epochs(page.last))


def _boxes(page: Page, experiment: Experiment, store: PaperStore, samples: ByColumn) -> None:
    for column in samples:
        costs = _costs(experiment, store, column)
        page.tables.append(_quartiles(experiment, costs, _titled(_COST_TITLE, column, samples)))
        page.pictures += draw_boxes(_picture(store, experiment, column), {s: c for s, c in costs.items() if c})


def _costs(experiment: Experiment, store: PaperStore, column: Column) -> _Costs:
    """By suite and variant, pooled over seeds."""
    out: _Costs = {suite: {} for suite in experiment.suites}
    for suite, variant in product(experiment.suites, experiment.variants):
        if known := store.episode_costs(experiment, suite, variant, column):
            out[suite][variant.name] = np.concatenate(known)
    return out


def _quartiles(experiment: Experiment, costs: _Costs, title: str) -> Table:
    titles = ("episodes", "mean", "least", "quartile", "median", "third quartile", "largest", "without cost")
    columns = {"suite": "", "algorithm": "", **dict.fromkeys(titles, ".4f")}
    rows: list[list[Cell]] = []
    for suite, variant in product((suite for suite in experiment.suites if costs[suite]), experiment.variants):
        figures: list[Cell] = [None] * len(titles)
        if (x := costs[suite].get(variant.name)) is not None:
            five = map(float, np.quantile(x, [0, 0.25, 0.5, 0.75, 1]))
            figures = [len(x), float(x.mean()), *five, f"{(x == 0).mean():.1%}"]
        rows.append([suite, variant.name, *figures])
    return Table(title, columns, rows)


def _histogram(page: Page, experiment: Experiment, store: PaperStore, samples: ByColumn) -> None:
    suite = experiment.suites[0]
    columns = {"algorithm": "", "start": "", "episodes": "", "largest": ".4f", "mean": ".4f"}
    for column in samples:
        found: dict[str, dict[int, np.ndarray]] = {}
        for variant in experiment.variants:
            if (costs := store.costs_by_start(experiment, suite, variant, column)) is not None:
                found[variant.name] = costs
        rows = [
            (name, start, len(costs), float(costs.max()), float(costs.mean()))
            for name, by_start in found.items()
            for start, costs in by_start.items()
        ]
        page.tables.append(Table(_titled(f"{suite}: cost of an episode, by start", column, samples), columns, rows))
        if found:
            page.pictures += draw_starts(_picture(store, experiment, column), found)


def _resources(page: Page, experiment: Experiment, store: PaperStore, samples: ByColumn) -> None:
    for column, found in samples.items():
        table, bars = _relative(experiment, found, partial(_titled, column=column, samples=samples))
        page.tables.append(table)
        if bars:
            page.pictures += draw_bars(_picture(store, experiment, column), bars, 1.01)


def _relative(
    experiment: Experiment, samples: Samples, titled: Callable[[str], str]
) -> tuple[Table, dict[str, dict[str, tuple[float, float]]]]:
    """Time and memory of one column, absolute and relative to TRPO, and the bars of a figure."""
    suite = experiment.suites[0]
    base = samples.get((suite, "trpo"), {})
    known = [name for name in ("seconds", "memory", "device") if len(base.get(name, ()))]
    titles = {"seconds": "s / epoch", "memory": "peak MB", "device": "peak MB of the accelerator"}
    relative = {name: f"{titles[name]}, relative to TRPO" for name in known}
    columns = {"algorithm": "", "seeds": "d"}
    columns |= {titles[name]: ".2f" if name == "seconds" else ".0f" for name in known}
    columns |= dict.fromkeys(relative.values(), ".3f")
    rows, bars = [], {title: {} for title in relative.values()}
    for variant in experiment.variants:
        numbers = samples.get((suite, variant.name), {})
        row: list[Cell] = [variant.name, len(numbers.get("seconds", ()))]
        row += [mean(numbers, name, 1.0 if name == "seconds" else 1e-6) for name in known]
        for name in known:
            cell = mean(numbers, name, 1 / float(base[name].mean()))
            row.append(cell)
            if isinstance(cell, tuple | float):
                bars[relative[name]][variant.name] = cell if isinstance(cell, tuple) else (cell, 0.0)
        rows.append(row)
    return Table(titled(f"{suite}: time and memory"), columns, rows), bars


def _ablation(page: Page, experiment: Experiment, store: PaperStore, samples: ByColumn) -> None:
    _tables_of(page, experiment, samples)
    _curves(page, experiment, store, samples)


def _pascpo(page: Page, experiment: Experiment, store: PaperStore, samples: ByColumn) -> None:
    _tables_of(page, experiment, samples)
    boxes: dict[Column, _Costs] = {column: _costs(experiment, store, column) for column in samples}
    for column, costs in boxes.items():
        page.tables.append(_quartiles(experiment, costs, _titled(_COST_TITLE, column, samples)))
    _curves(page, experiment, store, samples, boxes)


def _tables_of(page: Page, experiment: Experiment, samples: ByColumn) -> None:
    """Our figures beside the printed ones. With several columns, a table for each measure."""
    for suite in experiment.suites:
        if suite not in _suites(samples):
            continue
        if list(samples) == [OURS]:
            page.tables.append(_figures(experiment, suite, samples[OURS]))
        else:
            page.tables += compared_tables(experiment, suite, samples)
    page.notes.append(_about_epochs(page.last))


def _about_epochs(last: int) -> str:
    which = "of the last epoch, as in the paper" if last == 1 else f"means of the last {last} epochs"
    return f"J_r and M_c are {which}, over the episodes of training; ± is the standard deviation between seeds."


def _curves(
    page: Page,
    experiment: Experiment,
    store: PaperStore,
    samples: ByColumn,
    boxes: Mapping[Column, _Costs] | None = None,
) -> None:
    """A figure for each column."""
    for column in samples:
        rows: dict[str, dict[str, list[Log]]] = {}
        for suite, variant in product(experiment.suites, experiment.variants):
            if logs := store.logs(experiment, suite, variant, column):
                rows.setdefault(suite, {})[variant.name] = logs
        if rows:
            path = _picture(store, experiment, column)
            page.pictures += draw_curves(path, rows, boxes[column] if boxes else None)


_BUILDERS: dict[str, Callable[[Page, Experiment, PaperStore, ByColumn], None]] = {
    "scores": _scores,
    "boxes": _boxes,
    "histogram": _histogram,
    "monotone": _ablation,
    "resources": _resources,
    "pascpo": _pascpo,
    "lagrangian": _ablation,
    "columns": _ablation,
}
_COST_TITLE = "Cost of an episode after training"
_ABOUT_BOXES = (
    f"For each seed, the policy plays as many held-out episodes with sampled actions as {BOX_EPISODES.steps:,} steps "
    "hold; boxes pool the seeds. Claims compare the means of the seeds. The paper shows pictures without numbers."
)
_FOOTNOTES = {
    "scores": (
        FLOORS,
        "Printed scores come from the printed tables of the same suites, with the same floors. Ratio is ψ with "
        "geometric means. Rank is the mean rank among these algorithms on the suites that all of them have; 1 is best.",
        f"Left out: {COPIES_NOTE}.",
    ),
    "boxes": (_ABOUT_BOXES,),
    "histogram": (
        f"{FIXED_STARTS.starts} held-out scenes with an obstacle on the straight way to the goal are the starts. "
        f"{FIXED_STARTS.episodes} episodes with sampled actions begin in them in turn. The policy is that of the first "
        "finished seed. The paper's figure has no TRPO, which shows how much cost there is to avoid.",
    ),
    "monotone": (
        FLOORS,
        "`ascpo-monotone` has the loss (cost_fit.monotone_weight 1, as in the released code). `ascpo`, the default of "
        "this package, does not. The printed figures stand beside `ascpo`, although the paper's ASCPO has the loss.",
    ),
    "resources": (
        "Each run had a process and the machine to itself, and compiled its own programs. Seconds are those of the "
        "median epoch, without the first two; memory is the peak of the whole process. The paper reports less than 1 % "
        "more than TRPO, and does not say how it measured that.",
    ),
    "pascpo": (FLOORS, _ABOUT_BOXES),
    "lagrangian": (
        FLOORS,
        "x2, x5 and x10 are factors of `strength`, the multiplier's coefficient. The paper does not say which factors "
        "it used.",
    ),
    "columns": (
        FLOORS,
        "`ascpo-paper` has the paper's bound (mode paper) and the column's settings otherwise. The published settings "
        "of `ascpo` have this bound already, so that column has no runs of `ascpo-paper`.",
    ),
}


def fill(page: Page, experiment: Experiment, store: PaperStore, samples: ByColumn) -> None:
    """Add the experiment's tables, pictures and footnotes to its page."""
    _BUILDERS.get(experiment.name, _tables)(page, experiment, store, samples)
    page.footnotes += _FOOTNOTES.get(experiment.name, ())
