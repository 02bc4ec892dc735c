"""What is on the page of each table and figure."""

from collections.abc import Callable

import numpy as np

from ascpo.paper import published
from ascpo.paper.claims import claims_of_table, judge, tally
from ascpo.paper.drawing import draw_bars, draw_boxes, draw_curves, draw_starts
from ascpo.paper.experiments import TABLED, Experiment
from ascpo.paper.intervals import Interval
from ascpo.paper.page import Page
from ascpo.paper.published import COPIES, FAILED_SEEDS, FLOORS, MEASURES, WHY_NOT
from ascpo.paper.results import Numbers, Samples
from ascpo.paper.scores import judge_scores, score, score_published, usable
from ascpo.paper.tables import Cell, Column, Table
from ascpo.sweep.evaluation import costs_by_start, episode_costs
from ascpo.sweep.store import Shelf


def _tables(page: Page, experiment: Experiment, shelf: Shelf, samples: Samples) -> None:
    """The tables of q1: a table a suite. One alone has its curves, too."""
    _tables_of(page, experiment, samples)
    if absent := [suite for suite in experiment.suites if not any(key[0] == suite for key in samples)]:
        page.notes.append(f"No finished run yet of {', '.join(absent[:4])}{_and_more(len(absent) - 4)}.")
    page.footnotes.append(FLOORS)
    if set(COPIES) & set(experiment.suites):
        page.footnotes.append(f"* {WHY_NOT}.")
    if any(suite in experiment.suites for suite, _ in FAILED_SEEDS):
        page.footnotes.append("† the published J_r looks like the mean of a good seed and one that failed.")
    if len(experiment.suites) == 1:
        _curves(page, experiment, shelf)
        return
    every = [judge(claim, samples) for suite in experiment.suites for claim in claims_of_table(suite)]
    known = [one for one in every if one.has_runs]
    page.footnotes.append(
        f"Claims table by table (`ascpo paper show q1-SUITE` has them): {tally(known)}, of {len(every)} in all."
    )


def _and_more(number: int) -> str:
    return f" and {number} more" if number > 0 else ""


def _figures(experiment: Experiment, suite: str, samples: Samples) -> Table:
    columns = [Column("algorithm"), Column("seeds", "d")]
    for measure, digits in zip(MEASURES, (".3f", ".4f", ".1f"), strict=True):
        columns += [Column(measure.title, digits), Column(f"published {measure.title}", digits)]
    rows = []
    for variant in experiment.variants:
        numbers = samples.get((suite, variant.name), {})
        row: list[Cell] = [variant.name, len(numbers.get("J_r", ()))]
        for measure in MEASURES:
            row.append(_mean(numbers, measure.name, measure.scale))
            theirs = published.of(suite, variant.name, measure)
            row.append(None if theirs is None else theirs * measure.scale)
        if (suite, variant.name) in FAILED_SEEDS and row[3] is not None:
            row[3] = f"{row[3]:.3f}†"
        rows.append(row)
    return Table(f"{suite}{'*' if suite in COPIES else ''}", tuple(columns), rows)


def _mean(numbers: Numbers, name: str, scale: float = 1.0) -> Cell:
    """With the deviation between seeds, if there are several."""
    x = scale * numbers.get(name, np.zeros(0))
    if not len(x):
        return None
    return (float(x.mean()), float(x.std(ddof=1))) if len(x) > 1 else float(x[0])


def _scores(page: Page, experiment: Experiment, shelf: Shelf, samples: Samples) -> None:
    suites = usable(samples)
    ours = score(samples, TABLED)
    theirs = {s.algorithm: s for s in score_published(suites, TABLED)}
    columns = [Column("algorithm"), Column("suites", "d")]
    for name in ("ψ", "ratio", "rank"):
        columns += [Column(name, ".2f"), Column(f"published {name}", ".2f")]
    rows = []
    for one in sorted(ours, key=lambda s: -_value(s.psi)):
        other = theirs.get(one.algorithm)
        pairs = ((getattr(one, name), getattr(other, name, None)) for name in ("psi", "ratio", "rank"))
        rows.append([one.algorithm, one.suites, *(cell for pair in pairs for cell in pair)])
    page.tables.append(Table("Scores: over the suites with runs of TRPO", tuple(columns), rows))
    page.claims += judge_scores(samples, TABLED)
    page.notes.append(_of_which_epochs(page.last))
    page.footnotes += [
        FLOORS,
        "Published scores are of the published tables on the same suites, with the same floors. Ratio is ψ with "
        "geometric means. Rank is among the algorithms shown, over the suites that all of them have; 1 is best.",
        f"Left out: {WHY_NOT}.",
    ]


def _boxes(page: Page, experiment: Experiment, shelf: Shelf, samples: Samples) -> None:
    costs = _costs(experiment, shelf)
    page.tables.append(_quartiles(experiment, costs))
    page.pictures += draw_boxes(shelf.figures / experiment.name, {s: c for s, c in costs.items() if c})
    page.footnotes.append(_ABOUT_BOXES)


_ABOUT_BOXES = (
    "Episodes: as many fresh ones, of held-out seeds and with drawn actions, as 30 000 steps hold; all seeds together. "
    "Claims compare the means of the seeds. The figures were published as pictures, so there are no numbers to compare."
)


def _costs(experiment: Experiment, shelf: Shelf) -> dict[str, dict[str, np.ndarray]]:
    """By suite and variant, of all seeds together."""
    out: dict[str, dict[str, np.ndarray]] = {suite: {} for suite in experiment.suites}
    for suite in experiment.suites:
        for variant in experiment.variants:
            found = [episode_costs(run) for run in shelf.finished(experiment, suite, variant)]
            if known := [costs for costs in found if costs is not None]:
                out[suite][variant.name] = np.concatenate(known)
    return out


def _quartiles(experiment: Experiment, costs: dict[str, dict[str, np.ndarray]]) -> Table:
    titles = ("episodes", "mean", "least", "quartile", "median", "third quartile", "largest", "without cost")
    columns = (Column("suite"), Column("algorithm"), *(Column(title, ".4f") for title in titles))
    rows: list[list[Cell]] = []
    for suite in (suite for suite in experiment.suites if costs[suite]):
        for variant in experiment.variants:
            x = costs[suite].get(variant.name)
            if x is None:
                rows.append([suite, variant.name, *([None] * len(titles))])
            else:
                five = [float(q) for q in np.quantile(x, [0, 0.25, 0.5, 0.75, 1])]
                rows.append([suite, variant.name, len(x), float(x.mean()), *five, f"{(x == 0).mean():.1%}"])
    return Table("Cost of an episode after training", columns, rows)


def _histogram(page: Page, experiment: Experiment, shelf: Shelf, samples: Samples) -> None:
    suite, found = experiment.suites[0], {}
    for variant in experiment.variants:
        for run in shelf.finished(experiment, suite, variant)[:1]:
            if (costs := costs_by_start(run)) is not None:
                found[variant.name] = costs
    columns = (
        Column("algorithm"),
        Column("start"),
        Column("episodes"),
        Column("largest", ".4f"),
        Column("mean", ".4f"),
    )
    rows = [
        (name, start, len(costs), float(costs.max()), float(costs.mean()))
        for name, by_start in found.items()
        for start, costs in by_start.items()
    ]
    page.tables.append(Table(f"{suite}: cost of an episode, by start", columns, rows))
    if found:
        page.pictures += draw_starts(shelf.figures / experiment.name, found)
    page.footnotes.append(
        "A start is a scene of a held-out seed; fifty episodes begin in it, with drawn actions. The policy is that of "
        "the first seed there is. TRPO is not in the paper's figure: it tells how much cost there is to avoid."
    )


def _resources(page: Page, experiment: Experiment, shelf: Shelf, samples: Samples) -> None:
    suite = experiment.suites[0]
    base = samples.get((suite, "trpo"), {})
    known = [name for name in ("seconds", "memory", "device") if len(base.get(name, ()))]
    words = {"seconds": "s / epoch", "memory": "peak MB", "device": "peak MB of the accelerator"}
    columns = [Column("algorithm"), Column("seeds", "d")]
    columns += [Column(words[name], ".2f" if name == "seconds" else ".0f") for name in known]
    columns += [Column(f"{words[name]}, of TRPO's", ".3f") for name in known]
    rows, bars = [], {name: {} for name in known}
    for variant in experiment.variants:
        numbers = samples.get((suite, variant.name), {})
        row: list[Cell] = [variant.name, len(numbers.get("seconds", ()))]
        row += [_mean(numbers, name, 1.0 if name == "seconds" else 1e-6) for name in known]
        for name in known:
            cell = _mean(numbers, name, 1 / float(base[name].mean()))
            row.append(cell)
            if isinstance(cell, tuple | float):
                bars[name][variant.name] = cell if isinstance(cell, tuple) else (cell, 0.0)
        rows.append(row)
    page.tables.append(Table(f"{suite}: time and memory", tuple(columns), rows))
    if known:
        named = {f"{words[name]}, of TRPO's": bars[name] for name in known}
        page.pictures += draw_bars(shelf.figures / experiment.name, named, 1.01)
    page.footnotes.append(
        "Each run had a process and the machine for itself, and compiled its programs itself. Seconds are those of the "
        "median epoch, without the first two; memory is the largest of the whole process. The paper says less than 1 % "
        "more than TRPO, and not how that was measured."
    )


def _ablation(page: Page, experiment: Experiment, shelf: Shelf, samples: Samples) -> None:
    _tables_of(page, experiment, samples)
    _curves(page, experiment, shelf)
    page.footnotes.append(FLOORS)


def _monotone(page: Page, experiment: Experiment, shelf: Shelf, samples: Samples) -> None:
    _ablation(page, experiment, shelf, samples)
    page.footnotes.append(
        "With is `ascpo-monotone` (cost_fit.monotone_weight 1, as in the released code), without is `ascpo`, this "
        "package's default. The published figures stand beside `ascpo`, though the paper's ASCPO has the loss."
    )


def _lagrangian(page: Page, experiment: Experiment, shelf: Shelf, samples: Samples) -> None:
    _ablation(page, experiment, shelf, samples)
    page.footnotes.append(
        "x2, x5, x10: the coefficient of the multiplier (`strength`, 0.5) times that. The paper does not say which "
        "factors it took."
    )


def _pascpo(page: Page, experiment: Experiment, shelf: Shelf, samples: Samples) -> None:
    costs = _costs(experiment, shelf)
    _tables_of(page, experiment, samples)
    page.tables.append(_quartiles(experiment, costs))
    _curves(page, experiment, shelf, costs)
    page.footnotes += [FLOORS, _ABOUT_BOXES]


def _tables_of(page: Page, experiment: Experiment, samples: Samples) -> None:
    suites = [suite for suite in experiment.suites if any(key[0] == suite for key in samples)]
    page.tables += [_figures(experiment, suite, samples) for suite in suites]
    page.notes.append(_of_which_epochs(page.last))


def _of_which_epochs(last: int) -> str:
    which = "of the last epoch, as in the paper" if last == 1 else f"means of the last {last} epochs"
    return f"J_r and M_c are {which}, of the episodes that training played; ± is the deviation between seeds."


def _curves(
    page: Page, experiment: Experiment, shelf: Shelf, boxes: dict[str, dict[str, np.ndarray]] | None = None
) -> None:
    rows = {}
    for suite in experiment.suites:
        runs = {v.name: shelf.finished(experiment, suite, v) for v in experiment.variants}
        if any(runs.values()):
            rows[suite] = {name: found for name, found in runs.items() if found}
    if rows:
        page.pictures += draw_curves(shelf.figures / experiment.name, rows, boxes)


def _value(score: Interval | float) -> float:
    return score.value if isinstance(score, Interval) else score


_BUILDERS: dict[str, Callable[[Page, Experiment, Shelf, Samples], None]] = {
    "scores": _scores,
    "boxes": _boxes,
    "histogram": _histogram,
    "monotone": _monotone,
    "resources": _resources,
    "pascpo": _pascpo,
    "lagrangian": _lagrangian,
}


def fill(page: Page, experiment: Experiment, shelf: Shelf, samples: Samples) -> None:
    """Tables, pictures and footnotes."""
    _BUILDERS.get(experiment.name, _tables)(page, experiment, shelf, samples)
