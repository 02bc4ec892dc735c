"""The standing of one algorithm in each suite: beside its own printed figures, and beside the others' lowest M_c.

    lowest   no other algorithm has a lower mean of M_c
    level    one has, but the difference of the means of ln M_c is within Student's interval of 95 %
    behind   one has, and the difference is larger than that

Most algorithms have too few seeds for a deviation of their own. So the deviation of ln M_c between seeds is pooled over
the algorithms of a suite that have several:

    s² = Σ (nᵢ − 1) sᵢ² / Σ (nᵢ − 1)        the difference of two means has the error s √(1/n + 1/n′)

Suites differ: where one episode in a thousand has a cost, two seeds differ by a factor of several. A suite with too few
seeds for a deviation of its own gets the one that is pooled over all suites.

A policy that parks costs nothing. So algorithms count only if the time limit ends few of their episodes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ascpo.evaluation.intervals import LEVEL, of_means
from ascpo.paper.columns import PRINTED
from ascpo.paper.comparison import mean
from ascpo.paper.experiments import TABLE_ALGORITHMS
from ascpo.paper.printed import COPIES, J_R, M_C, TIMEOUTS, printed, printed_value
from ascpo.paper.results import Numbers, Samples
from ascpo.paper.tables import Cell, Table

ARRIVES = 0.05
"""The largest share of time-outs with which an algorithm counts as one that arrives."""
ENOUGH_FREEDOM = 5
"""The degrees of freedom with which a suite has a deviation of its own."""
RETURN_TOLERANCE = 0.1
"""J_r may be lower than the printed one by this much."""

Place = Literal["lowest", "level", "behind"]


@dataclass(frozen=True)
class Spread:
    """How much ln M_c differs between the seeds of one algorithm in one suite, pooled over algorithms."""

    deviation: float
    freedom: int
    """Degrees of freedom: the seeds beyond the first of each group."""


@dataclass(frozen=True)
class Standing:
    """The standing of one algorithm in one suite."""

    suite: str
    ours: Numbers
    rival: str | None
    """The algorithm with the lowest M_c of all others. None if no other one arrives."""
    theirs: Numbers
    """The rival's numbers."""
    spread: Spread | None
    """The spread that decides: the suite's own, or that of all suites."""
    place: Place | None
    """None without a rival, or if a lower M_c cannot be compared because no algorithm has two seeds."""

    def returns_as_printed(self, algorithm: str) -> bool:
        theirs = printed_value(self.suite, algorithm, J_R)
        return theirs is not None and bool(self.ours[J_R.name].mean() >= theirs - RETURN_TOLERANCE)

    def costs_as_printed(self, algorithm: str) -> bool:
        """Whether M_c is at or below the printed one, which has four digits."""
        theirs = printed_value(self.suite, algorithm, M_C)
        return theirs is not None and round(float(self.ours[M_C.name].mean()), 4) <= theirs


def spread(samples: Samples) -> Spread | None:
    """The pooled deviation of ln M_c. None if no algorithm that arrives has two seeds in any suite."""
    costs = [numbers[M_C.name] for numbers in samples.values() if _arrives(numbers)]
    groups = [M_C.logs(x) for x in costs if len(x) > 1]
    freedom = sum(len(logs) - 1 for logs in groups)
    if not freedom:
        return None
    squares = sum(float(((logs - logs.mean()) ** 2).sum()) for logs in groups)
    return Spread(float(np.sqrt(squares / freedom)), freedom)


def standings(samples: Samples, algorithm: str, others: Iterable[str] = TABLE_ALGORITHMS) -> list[Standing]:
    """The standing in every suite in which the algorithm has runs."""
    pooled, rivals = spread(samples), [name for name in others if name != algorithm]
    suites = dict.fromkeys(suite for suite, name in samples if name == algorithm)
    of_suites = {one: {key: numbers for key, numbers in samples.items() if key[0] == one} for one in suites}
    return [_standing(found, suite, algorithm, rivals, pooled) for suite, found in of_suites.items()]


def standing_table(found: Iterable[Standing], algorithm: str, title: str) -> Table:
    """The standings, each figure beside the printed one."""
    columns = {"suite": ""}
    for measure in (J_R, M_C):
        columns |= {measure.title: measure.digits, f"{PRINTED} {measure.title}": measure.digits}
    columns |= {"lowest of the others": "", f"its {M_C.title}": M_C.digits, "standing": ""}
    rows: list[list[Cell]] = []
    for one in found:
        row: list[Cell] = [f"{one.suite}{'*' if one.suite in COPIES else ''}"]
        for measure in (J_R, M_C):
            row += [mean(one.ours, measure.name), printed_value(one.suite, algorithm, measure)]
        rows.append([*row, one.rival, mean(one.theirs, M_C.name), one.place])
    return Table(title, columns, rows)


def standing_notes(found: Sequence[Standing], algorithm: str, pooled: Spread | None) -> list[str]:
    """The standings counted, and how seeds decide them."""
    returns = sum(one.returns_as_printed(algorithm) for one in found)
    costs = sum(one.costs_as_printed(algorithm) for one in found)
    lowest, level, behind = ([one.place for one in found].count(place) for place in ("lowest", "level", "behind"))
    theirs, tables = printed_lowest(algorithm)
    notes = [
        f"J_r of {algorithm} is at least the printed one less {RETURN_TOLERANCE:g} in {returns} of {len(found)} "
        f"suites, M_c at or below the printed one in {costs}.",
        f"M_c of {algorithm} is the lowest in {lowest} of {len(found)} suites, level with the lowest in {level} and "
        f"behind in {behind} (in print: lowest or equal in {theirs} of {tables}). Algorithms with more than "
        f"{ARRIVES:.0%} time-outs do not count.",
    ]
    if pooled is not None:
        notes.append(
            f"Level: the difference of ln M_c is within Student's interval of {LEVEL:.0%}. Seeds of one algorithm "
            f"differ by a factor of {np.exp(pooled.deviation):.2g} (one standard deviation, from {pooled.freedom} "
            f"degrees of freedom){_of_own(found, pooled)}."
        )
    return notes


def _of_own(found: Iterable[Standing], pooled: Spread) -> str:
    """How far the deviations of single suites differ."""
    spreads = [one.spread for one in found if one.spread is not None and one.spread != pooled]
    own = [np.exp(one.deviation) for one in spreads]
    many = f"suites that have {ENOUGH_FREEDOM} or more of their own"
    return f", by {min(own):.2g} to {max(own):.2g} in {many}" if own else ""


def printed_lowest(algorithm: str) -> tuple[int, int]:
    """In how many of the printed tables the algorithm has the lowest M_c, ties counted, and how many there are."""
    suites = dict.fromkeys(suite for suite, _ in printed())
    costs = [[printed()[suite, name].of(M_C) for name in TABLE_ALGORITHMS] for suite in suites]
    mine = TABLE_ALGORITHMS.index(algorithm)
    return sum(row[mine] <= min(row) for row in costs), len(suites)


def _standing(samples: Samples, suite: str, algorithm: str, rivals: list[str], pooled: Spread | None) -> Standing:
    mine = samples[suite, algorithm]
    found = {name: x for name in rivals if _arrives(x := samples.get((suite, name), {}))}
    rival = min(found, key=lambda name: found[name][M_C.name].mean(), default=None)
    theirs = found[rival] if rival is not None else {}
    own = spread(samples)
    deciding = own if own is not None and own.freedom >= ENOUGH_FREEDOM else pooled
    place = None if rival is None else _place(mine, theirs, deciding)
    return Standing(suite, mine, rival, theirs, deciding, place)


def _place(mine: Numbers, theirs: Numbers, deciding: Spread | None) -> Place | None:
    if mine[M_C.name].mean() <= theirs[M_C.name].mean():
        return "lowest"
    if deciding is None:
        return None
    difference = of_means(M_C.logs(mine[M_C.name]), M_C.logs(theirs[M_C.name]), deciding.deviation, deciding.freedom)
    return "level" if difference.low <= 0 else "behind"


def _arrives(numbers: Numbers) -> bool:
    timeouts = numbers.get(TIMEOUTS.name, np.zeros(0))
    return len(numbers.get(M_C.name, ())) > 0 and (not len(timeouts) or bool(timeouts.mean() <= ARRIVES))
