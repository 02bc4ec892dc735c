"""The tables, pictures and footnotes of each experiment's page."""

from collections.abc import Callable
from itertools import product

import numpy as np

from ascpo.paper.claims import assess, claims_of_table, tally
from ascpo.paper.drawing import draw_bars, draw_boxes, draw_curves, draw_starts
from ascpo.paper.experiments import BOX_EPISODES, FIXED_STARTS, TABLE_ALGORITHMS, Experiment
from ascpo.paper.printed import COPIES, COPIES_NOTE, FAILED_SEEDS, FLOORS, MEASURES, printed_value
from ascpo.paper.results import Numbers, PaperStore, Samples
from ascpo.paper.scores import assess_scores, score, score_printed, usable, value
from ascpo.paper.tables import Cell, Page, Table
from ascpo.runs.directory import RunDirectory
from ascpo.sweep.evaluation import costs_by_start, episode_costs


def _tables(page: Page, experiment: Experiment, store: PaperStore, samples: Samples) -> None:
    """The tables of q1, one for each suite. A single table also has learning curves."""
    _tables_of(page, experiment, samples)
    if absent := [suite for suite in experiment.suites if not any(key[0] == suite for key in samples)]:
        more = f" and {len(absent) - 4} more" if len(absent) > 4 else ""
        page.notes.append(f"No run is finished yet for {', '.join(absent[:4])}{more}.")
    page.footnotes.append(FLOORS)
    if set(COPIES) & set(experiment.suites):
        page.footnotes.append(f"* {COPIES_NOTE[0].upper()}{COPIES_NOTE[1:]}.")
    if any(suite in experiment.suites for suite, _ in FAILED_SEEDS):
        page.footnotes.append("† The printed J_r looks like the mean of a good seed and one that failed.")
    if len(experiment.suites) == 1:
        _curves(page, experiment, store)
        return
    every = [assess(claim, samples) for suite in experiment.suites for claim in claims_of_table(suite)]
    known = [one for one in every if one.has_runs]
    page.footnotes.append(
        f"Claims of the single tables (see `ascpo paper show q1-SUITE`): {tally(known)}, of {len(every)} in total."
    )


def _figures(experiment: Experiment, suite: str, samples: Samples) -> Table:
    columns = {"algorithm": "", "seeds": "d"}
    for measure, digits in zip(MEASURES, (".3f", ".4f", ".1f"), strict=True):
        columns |= {measure.title: digits, f"printed {measure.title}": digits}
    rows = []
    for variant in experiment.variants:
        numbers = samples.get((suite, variant.name), {})
        row: list[Cell] = [variant.name, len(numbers.get("J_r", ()))]
        for measure in MEASURES:
            row.append(_mean(numbers, measure.name, measure.scale))
            theirs = printed_value(suite, variant.name, measure)
            row.append(None if theirs is None else theirs * measure.scale)
        if (suite, variant.name) in FAILED_SEEDS and row[3] is not None:
            row[3] = f"{row[3]:.3f}†"
        rows.append(row)
    return Table(f"{suite}{'*' if suite in COPIES else ''}", columns, rows)


def _mean(numbers: Numbers, name: str, scale: float = 1.0) -> Cell:
    """With the standard deviation between seeds, if there are several."""
    x = scale * numbers.get(name, np.zeros(0))
    if not len(x):
        return None
    return (float(x.mean()), float(x.std(ddof=1))) if len(x) > 1 else float(x[0])


def _scores(page: Page, experiment: Experiment, store: PaperStore, samples: Samples) -> None:
    suites = usable(samples)
    ours = score(samples, TABLE_ALGORITHMS)
    theirs = {s.algorithm: s for s in score_printed(suites, TABLE_ALGORITHMS)}
    titles = [f"{who}{name}" for name in ("ψ", "ratio", "rank") for who in ("", "printed ")]
    columns = {"algorithm": "", "suites": "d", **dict.fromkeys(titles, ".2f")}
    rows = []
    for one in sorted(ours, key=lambda s: -value(s.psi)):
        other = theirs.get(one.algorithm)
        pairs = ((getattr(one, name), getattr(other, name, None)) for name in ("psi", "ratio", "rank"))
        rows.append([one.algorithm, one.suites, *(cell for pair in pairs for cell in pair)])
    page.tables.append(Table("Scores over the suites with runs of TRPO", columns, rows))
    page.claims += assess_scores(samples, TABLE_ALGORITHMS)
    page.notes.append(_about_epochs(page.last))


def _boxes(page: Page, experiment: Experiment, store: PaperStore, samples: Samples) -> None:
    costs = _costs(experiment, store)
    page.tables.append(_quartiles(experiment, costs))
    page.pictures += draw_boxes(store.figures / experiment.name, {s: c for s, c in costs.items() if c})


def _costs(experiment: Experiment, store: PaperStore) -> dict[str, dict[str, np.ndarray]]:
    """By suite and variant, pooled over seeds."""
    out: dict[str, dict[str, np.ndarray]] = {suite: {} for suite in experiment.suites}
    for suite, variant in product(experiment.suites, experiment.variants):
        found = map(episode_costs, store.finished(experiment, suite, variant))
        if known := [costs for costs in found if costs is not None]:
            out[suite][variant.name] = np.concatenate(known)
    return out


def _quartiles(experiment: Experiment, costs: dict[str, dict[str, np.ndarray]]) -> Table:
    titles = ("episodes", "mean", "least", "quartile", "median", "third quartile", "largest", "without cost")
    columns = {"suite": "", "algorithm": "", **dict.fromkeys(titles, ".4f")}
    rows: list[list[Cell]] = []
    for suite, variant in product((suite for suite in experiment.suites if costs[suite]), experiment.variants):
        figures: list[Cell] = [None] * len(titles)
        if (x := costs[suite].get(variant.name)) is not None:
            five = map(float, np.quantile(x, [0, 0.25, 0.5, 0.75, 1]))
            figures = [len(x), float(x.mean()), *five, f"{(x == 0).mean():.1%}"]
        rows.append([suite, variant.name, *figures])
    return Table("Cost of an episode after training", columns, rows)


def _histogram(page: Page, experiment: Experiment, store: PaperStore, samples: Samples) -> None:
    suite, found = experiment.suites[0], {}
    for variant in experiment.variants:
        for run in store.finished(experiment, suite, variant)[:1]:
            if (costs := costs_by_start(run)) is not None:
                found[variant.name] = costs
    columns = {"algorithm": "", "start": "", "episodes": "", "largest": ".4f", "mean": ".4f"}
    rows = [
        (name, start, len(costs), float(costs.max()), float(costs.mean()))
        for name, by_start in found.items()
        for start, costs in by_start.items()
    ]
    page.tables.append(Table(f"{suite}: cost of an episode, by start", columns, rows))
    if found:
        page.pictures += draw_starts(store.figures / experiment.name, found)


def _resources(page: Page, experiment: Experiment, store: PaperStore, samples: Samples) -> None:
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
        row += [_mean(numbers, name, 1.0 if name == "seconds" else 1e-6) for name in known]
        for name in known:
            cell = _mean(numbers, name, 1 / float(base[name].mean()))
            row.append(cell)
            if isinstance(cell, tuple | float):
                bars[relative[name]][variant.name] = cell if isinstance(cell, tuple) else (cell, 0.0)
        rows.append(row)
    page.tables.append(Table(f"{suite}: time and memory", columns, rows))
    if known:
        page.pictures += draw_bars(store.figures / experiment.name, bars, 1.01)


def _ablation(page: Page, experiment: Experiment, store: PaperStore, samples: Samples) -> None:
    _tables_of(page, experiment, samples)
    _curves(page, experiment, store)


def _pascpo(page: Page, experiment: Experiment, store: PaperStore, samples: Samples) -> None:
    costs = _costs(experiment, store)
    _tables_of(page, experiment, samples)
    page.tables.append(_quartiles(experiment, costs))
    _curves(page, experiment, store, costs)


def _tables_of(page: Page, experiment: Experiment, samples: Samples) -> None:
    suites = [suite for suite in experiment.suites if any(key[0] == suite for key in samples)]
    page.tables += [_figures(experiment, suite, samples) for suite in suites]
    page.notes.append(_about_epochs(page.last))


def _about_epochs(last: int) -> str:
    which = "of the last epoch, as in the paper" if last == 1 else f"means of the last {last} epochs"
    return f"J_r and M_c are {which}, over the episodes of training; ± is the standard deviation between seeds."


def _curves(
    page: Page, experiment: Experiment, store: PaperStore, boxes: dict[str, dict[str, np.ndarray]] | None = None
) -> None:
    rows: dict[str, dict[str, list[RunDirectory]]] = {}
    for suite, variant in product(experiment.suites, experiment.variants):
        if runs := store.finished(experiment, suite, variant):
            rows.setdefault(suite, {})[variant.name] = runs
    if rows:
        page.pictures += draw_curves(store.figures / experiment.name, rows, boxes)


_BUILDERS: dict[str, Callable[[Page, Experiment, PaperStore, Samples], None]] = {
    "scores": _scores,
    "boxes": _boxes,
    "histogram": _histogram,
    "monotone": _ablation,
    "resources": _resources,
    "pascpo": _pascpo,
    "lagrangian": _ablation,
}
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
        f"{FIXED_STARTS.starts} scenes of held-out seeds are the starts. {FIXED_STARTS.episodes} episodes with sampled "
        "actions begin in them in turn. The policy is that of the first finished seed. The paper's figure has no "
        "TRPO, which shows how much cost there is to avoid.",
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
}


def fill(page: Page, experiment: Experiment, store: PaperStore, samples: Samples) -> None:
    """Add the experiment's tables, pictures and footnotes to its page."""
    _BUILDERS.get(experiment.name, _tables)(page, experiment, store, samples)
    page.footnotes += _FOOTNOTES.get(experiment.name, ())
