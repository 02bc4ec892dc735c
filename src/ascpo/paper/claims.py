"""The claims of the paper as data, and their verdicts from the runs.

A claim compares two variants by one measure, on one suite or over all. The difference is

    costs, times   mean ln(worse) − mean ln(better)       on one suite: Welch's interval over seeds
    returns        mean better − mean worse               over suites: Student's, one number per suite

The claim is true if it is above 0. A claim of "hardly more" is true above −ln(1 + tolerance), a claim of "hardly less"
above −tolerance·|mean worse|. A tolerance of 0.01 is one per cent.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ascpo.evaluation.intervals import Interval, of_difference, of_mean
from ascpo.paper.columns import OURS, Column
from ascpo.paper.experiments import FOUR_SUITES, LAGRANGIANS, TABLE_ALGORITHMS, Experiment
from ascpo.paper.printed import COPIES, J_R, M_C, MEASURES, RHO_C, Measure, printed_value
from ascpo.paper.results import Samples
from ascpo.paper.verdict import VERDICTS, Verdict, verdict

COST = Measure("cost", "mean cost of an episode after training", floor=M_C.floor)
START = Measure("start", "mean cost of an episode from the same starts", floor=M_C.floor)
SECONDS = Measure("seconds", "time of an epoch", floor=1e-9)
MEMORY = Measure("memory", "peak memory", floor=1.0)

FEW_SUITES = 3
"""Smallest number of suites for a verdict over suites."""


@dataclass(frozen=True)
class Claim:
    """`better` has less of a measure than `worse`, or more return."""

    better: str
    worse: str
    measure: Measure
    suite: str | None = None
    """None: over all suites."""
    tolerance: float = 0.0
    paired: bool = False
    """Whether the numbers of both sides are paired."""

    @property
    def description(self) -> str:
        where = "over the suites" if self.suite is None else f"on {self.suite}"
        if self.tolerance:
            side = "below" if self.measure.higher_is_better else "above"
            return f"{self.measure.name} of {self.better}: at most {self.tolerance:.0%} {side} {self.worse}'s, {where}"
        return f"{self.measure.name} of {self.better} below {self.worse}'s, {where}"


_POINT, _SWIMMER = "Point-8-Hazard", "Swimmer-1-Hazard"
_OTHERS = tuple(name for name in TABLE_ALGORITHMS if name != "ascpo")
_BOXED = ("scpo", "cpo", "cpo-cvar", "trpo", "trpo-fac", "trpo-lagrangian")
_PRICED = ("trpo-lagrangian", *(variant.name for variant in LAGRANGIANS))
_HARDLY_LESS, _HARDLY_MORE = 0.05, 0.01

CLAIMS: dict[str, tuple[Claim, ...]] = {
    "q1": (
        *(Claim("ascpo", other, measure) for measure in (M_C, RHO_C) for other in _OTHERS),
        Claim("ascpo", "trpo", J_R, tolerance=_HARDLY_LESS),
    ),
    "scores": (),
    "boxes": tuple(Claim("ascpo", other, COST, suite) for suite in FOUR_SUITES for other in _BOXED),
    "histogram": (Claim("ascpo", "trpo", START, _SWIMMER, paired=True),),
    "monotone": tuple(
        Claim("ascpo-monotone", "ascpo", m, suite) for m in (M_C, RHO_C) for suite in (*FOUR_SUITES, None)
    ),
    "resources": tuple(
        Claim(better, worse, measure, _POINT, tolerance=_HARDLY_MORE)
        for better, worse in (("ascpo", "trpo"), ("pascpo", "ppo-lagrangian"))
        for measure in (SECONDS, MEMORY)
    ),
    "pascpo": (
        *(Claim("pascpo", "ppo-lagrangian", m, suite) for m in (M_C, RHO_C, COST) for suite in FOUR_SUITES),
        *(Claim("pascpo", "ppo-lagrangian", J_R, suite, tolerance=_HARDLY_LESS) for suite in FOUR_SUITES),
    ),
    "lagrangian": (
        *(Claim("ascpo", other, M_C, _POINT) for other in _PRICED),
        *(Claim("ascpo", other, J_R, _POINT, tolerance=_HARDLY_LESS) for other in _PRICED),
    ),
}
"""The claims by experiment. Claims about ψ are in scores.py."""


@dataclass(frozen=True)
class Assessment:
    """A claim and its verdict."""

    claim: str
    verdict: Verdict
    ours: Interval | None = None
    """The effect: a factor, or a difference of returns."""
    printed: float | None = None
    has_runs: bool = True
    """Whether both sides have runs, enough to decide or not."""
    column: Column = OURS
    """The column of the runs that the verdict comes from."""


def assess(claim: Claim, samples: Samples, column: Column = OURS) -> Assessment:
    """The verdict of the runs of one column. No verdict mixes columns."""
    suites = _suites(claim, samples)
    difference = _difference(claim, suites, samples)
    expected = None if claim.tolerance else _expected(claim, suites)
    found = verdict(difference and difference + _tolerated(claim, suites, samples), expected)
    ours = difference and difference.map(lambda x: _readable(claim, x))
    theirs = expected and _readable(claim, expected)
    return Assessment(claim.description, found, ours, theirs, bool(suites), column)


def claims_of(experiment: Experiment) -> list[Claim]:
    """The paper's claims about this experiment."""
    if experiment.name in CLAIMS:
        return list(CLAIMS[experiment.name])
    return [claim for suite in experiment.suites for claim in claims_of_table(suite)]


def claims_of_table(suite: str) -> list[Claim]:
    """The claims that one printed table shows. A claim that it does not show cannot be reproduced."""
    if suite in COPIES:
        return []
    costs = [Claim("ascpo", other, m, suite) for m in (M_C, RHO_C) for other in ("trpo", "cpo", "scpo")]
    return [
        *(claim for claim in costs if (_printed_difference(claim, suite) or 0) > 0),
        Claim("ascpo", "trpo", J_R, suite, _HARDLY_LESS),
    ]


def tally(assessments: Iterable[Assessment]) -> str:
    """How many claims have each verdict."""
    found = [one.verdict for one in assessments]
    return ", ".join(f"{found.count(word)} {word}" for word in VERDICTS if word in found) or "none"


def _difference(claim: Claim, suites: list[str], samples: Samples) -> Interval | None:
    """The interval of the difference. None with too few numbers."""
    pairs = [_numbers(claim, suite, samples) for suite in suites]
    if not claim.suite:
        return of_mean([b.mean() - w.mean() for b, w in pairs]) if len(pairs) >= FEW_SUITES else None
    for better, worse in pairs:
        if claim.paired:
            return of_mean(better - worse) if len(better) == len(worse) else None
        return of_difference(better, worse)
    return None


def _tolerated(claim: Claim, suites: list[str], samples: Samples) -> float:
    """The difference by which the better side may fall short."""
    if not claim.measure.higher_is_better:
        return float(np.log1p(claim.tolerance))
    return claim.tolerance * float(np.mean([abs(_numbers(claim, suite, samples)[1].mean()) for suite in suites]))


def _readable(claim: Claim, difference: float) -> float:
    """A difference of returns, or the factor by which a cost is less (with a tolerance: more)."""
    if claim.measure.higher_is_better:
        return difference
    return float(np.exp(-difference if claim.tolerance else difference))


def _suites(claim: Claim, samples: Samples) -> list[str]:
    """The suites of a claim on which both sides have runs. Claims over all suites leave out copied tables."""
    usable = (suite for suite, _ in samples if suite not in COPIES or claim.better not in TABLE_ALGORITHMS)
    suites = [claim.suite] if claim.suite else dict.fromkeys(usable)
    return [suite for suite in suites if all(len(side) for side in _numbers(claim, suite, samples))]


def _numbers(claim: Claim, suite: str, samples: Samples) -> list[np.ndarray]:
    """The numbers of the better and the worse side, on a scale on which more is better."""
    sides = (samples.get((suite, name), {}) for name in (claim.better, claim.worse))
    return [_scaled(claim.measure, side.get(claim.measure.name, np.zeros(0))) for side in sides]


def _scaled(measure: Measure, x: ArrayLike) -> np.ndarray:
    """Negative logarithms, for ratios. Returns may be negative, so they stay as they are."""
    return np.asarray(x) if measure.higher_is_better else -measure.logs(x)


def _expected(claim: Claim, suites: list[str]) -> float | None:
    """The printed difference, over the same suites."""
    known = [x for suite in suites if (x := _printed_difference(claim, suite)) is not None]
    # Printed numbers that contradict the claim do not tell its size.
    return float(np.mean(known)) if known and np.mean(known) > 0 else None


def _printed_difference(claim: Claim, suite: str) -> float | None:
    if claim.measure not in MEASURES or suite in COPIES:
        return None
    better, worse = (printed_value(suite, name, claim.measure) for name in (claim.better, claim.worse))
    if better is None or worse is None:
        return None
    return float(_scaled(claim.measure, better) - _scaled(claim.measure, worse))
