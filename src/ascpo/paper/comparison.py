"""The columns side by side, and sentences about their differences. All numbers come from runs."""

from collections.abc import Mapping
from itertools import product

import numpy as np

from ascpo.evaluation.intervals import of_difference
from ascpo.paper.claims import Assessment, tally
from ascpo.paper.columns import COLUMNS, PRINTED, SETTINGS, Column, enumerate_words
from ascpo.paper.experiments import Experiment
from ascpo.paper.printed import COPIES, FAILED_SEEDS, J_R, LOGGED, M_C, MEASURES, Measure, printed_value
from ascpo.paper.results import Numbers, Samples
from ascpo.paper.tables import Cell, Table

ByColumn = Mapping[Column, Samples]
_MANY_SUITES = 3
"""From this many suites on, sentences about every algorithm would be too many to read."""


def mean(numbers: Numbers, name: str, scale: float = 1.0) -> Cell:
    """The mean, with the standard deviation between seeds if there are several."""
    x = scale * numbers.get(name, np.zeros(0))
    if not len(x):
        return None
    return (float(x.mean()), float(x.std(ddof=1))) if len(x) > 1 else float(x[0])


def compared_tables(experiment: Experiment, suite: str, samples: ByColumn) -> list[Table]:
    """A table for each measure: the printed figure beside those of each column's runs."""
    here = [x for column in samples.values() for (where, _), x in column.items() if where == suite]
    known = [measure for measure in LOGGED if any(measure.name in x for x in here)]
    return [_compared(experiment, suite, measure, samples) for measure in known]


def _compared(experiment: Experiment, suite: str, measure: Measure, samples: ByColumn) -> Table:
    has_print = measure in MEASURES
    columns = {"algorithm": "", **({PRINTED: measure.digits} if has_print else {})}
    columns |= dict.fromkeys(samples, measure.digits) | {"seeds of each": ""}
    rows: list[list[Cell]] = []
    for variant in experiment.variants:
        found = [column.get((suite, variant.name), {}) for column in samples.values()]
        theirs = printed_value(suite, variant.name, measure) if has_print else None
        failed = measure == J_R and (suite, variant.name) in FAILED_SEEDS
        shown: Cell = None if theirs is None else theirs * measure.scale
        if failed and theirs is not None:
            shown = f"{theirs:{measure.digits}}†"
        cells = [mean(numbers, measure.name, measure.scale) for numbers in found]
        seeds = ", ".join(str(len(numbers.get(measure.name, ()))) for numbers in found)
        rows.append([variant.name, *([shown] if has_print else []), *cells, seeds])
    return Table(f"{suite}{'*' if suite in COPIES else ''}: {measure.title}, {measure.description}", columns, rows)


def findings(experiment: Experiment, samples: ByColumn, claims: list[Assessment]) -> list[str]:
    """Sentences about the columns. Columns without runs are named."""
    few = len(experiment.suites) < _MANY_SUITES
    out = [
        _ends(suite, column, found)
        for suite, (column, found) in product(experiment.suites, samples.items())
        if few or any(where == suite for where, _ in found)
    ]
    if few:
        pairs = product(experiment.suites, (variant.name for variant in experiment.variants))
        out += [_difference(suite, name, samples) for suite, name in pairs]
    for column in samples:
        judged = [one for one in claims if one.column == column]
        out += [f"The paper's claims, judged by the runs with {SETTINGS[column]}: {tally(judged)}."] if judged else []
    if absent := [SETTINGS[column] for column in COLUMNS if column not in samples]:
        out.append(f"No run with {enumerate_words(absent, 'or')} is finished, so they are not compared.")
    return [sentence for sentence in out if sentence]


def _ends(suite: str, column: Column, samples: Samples) -> str:
    """The lowest and the highest M_c of a column, and the algorithms that seeds do not distinguish from the lowest."""
    costs = {name: x[M_C.name] for (where, name), x in samples.items() if where == suite and M_C.name in x}
    if not costs:
        return f"{suite}: no run with {SETTINGS[column]} is finished."
    low, *others = sorted(costs, key=lambda name: costs[name].mean())
    text = f"{suite} with {SETTINGS[column]}: M_c is "
    if not others:
        return f"{text}{_measured(M_C, costs[low])} for {low}, the only algorithm with runs."
    high = others[-1]
    text += f"lowest for {low}, {_measured(M_C, costs[low])}, and highest for {high}, {_measured(M_C, costs[high])}."
    intervals = {name: of_difference(M_C.logs(costs[name]), M_C.logs(costs[low])) for name in others}
    if any(interval is None for interval in intervals.values()):
        return f"{text} With a single seed of some of them, the differences are not certain."
    level = [name for name, interval in intervals.items() if interval is not None and interval.low <= 0]
    if not level:
        return f"{text} The seeds distinguish {low} from all others."
    return f"{text} The seeds do not distinguish {enumerate_words(level)} from {low}."


def _difference(suite: str, name: str, samples: ByColumn) -> str:
    """An algorithm's M_c and J_r with the settings of each column, and the changes from each to the last column."""
    found: dict[Column, Numbers] = {c: one[suite, name] for c, one in samples.items() if (suite, name) in one}
    if len(found) < 2:
        return ""
    parts: list[str] = []
    for measure in (M_C, J_R):
        write = _measured if measure == M_C else _spread
        values = [f"{write(measure, x[measure.name])} with {SETTINGS[c]}" for c, x in found.items()]
        theirs = printed_value(suite, name, measure)
        beside = "" if theirs is None else f" (the paper prints {theirs:{measure.digits}})"
        parts.append(f"{measure.name} is {enumerate_words(values)}{beside}")
    *others, last = found
    effects = [_effect(found[c][M_C.name], c, found[last][M_C.name], last) for c in others]
    return f"{name} on {suite}: {parts[0]}. {' '.join(effects)} {parts[1]}."


def _effect(before: np.ndarray, column: Column, after: np.ndarray, last: Column) -> str:
    difference = of_difference(M_C.logs(before), M_C.logs(after))
    pair = f"{SETTINGS[column]} and {SETTINGS[last]}"
    if difference is None:
        return f"A single seed says nothing about the difference between {pair}."
    if difference.low <= 0 <= difference.high:
        return f"The seeds show no difference of M_c between {pair}."
    word, sign = ("lower", 1.0) if difference.low > 0 else ("higher", -1.0)
    factor = difference.map(lambda x: float(np.exp(sign * x)))
    size = f"by a factor of {factor.value:.2g} (95 % interval {factor.low:.2g} to {factor.high:.2g})"
    return f"With {SETTINGS[last]} M_c is {word} than with {SETTINGS[column]}, {size}."


def _measured(measure: Measure, x: np.ndarray) -> str:
    if len(x) == 1:
        return f"{_spread(measure, x)} (one seed)"
    return f"{_spread(measure, x)} (worst of {len(x)} seeds {measure.worst(x):{measure.digits}})"


def _spread(measure: Measure, x: np.ndarray) -> str:
    deviation = f" ± {x.std(ddof=1):{measure.digits}}" if len(x) > 1 else ""
    return f"{x.mean():{measure.digits}}{deviation}"
