"""Scores: one number for an algorithm over many suites.

    ψ        mean over suites of ⅓ (J_r / J_r* + M_c* / M_c + ρ_c* / ρ_c),  * = TRPO's       as in the paper; TRPO has 1
    ratio    the same with geometric means: exp of the mean of ⅓ (ln … + ln … + ln …)
    rank     mean rank among all algorithms over suites and the three measures; 1 is best

The smallest denominators dominate ψ: an M_c of 0.001 where TRPO has 0.1 counts as much as a hundred suites. So
denominators have a floor, and pages show two other scores beside ψ. Intervals are bootstrapped over suites and seeds.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ascpo.evaluation.intervals import Interval, of_draws
from ascpo.paper.claims import FEW_SUITES, Assessment
from ascpo.paper.printed import COPIES, MEASURES, printed
from ascpo.paper.results import Samples
from ascpo.paper.verdict import verdict

_DRAWS = 2000
_FLOORS = np.array([m.floor for m in MEASURES])
_HIGH = np.array([m.higher_is_better for m in MEASURES])


@dataclass(frozen=True)
class Score:
    """The scores of one algorithm. An interval needs three suites."""

    algorithm: str
    suites: int
    psi: Interval | float
    ratio: Interval | float
    rank: Interval | float


@dataclass(frozen=True)
class Grid:
    """The measures of all algorithms, of which the first is the reference. NaN without a run."""

    algorithms: tuple[str, ...]
    figures: np.ndarray
    """[draw, suite, algorithm, measure]. The first draw holds the measured means."""

    def psi(self) -> np.ndarray:
        """[draw, algorithm]"""
        return _mean(_parts(self.figures).mean(axis=-1))

    def ratio(self) -> np.ndarray:
        return np.exp(_mean(np.log(_parts(self.figures)).mean(axis=-1)))

    def rank(self) -> np.ndarray:
        """[draw, algorithm], over the suites on which all algorithms have runs."""
        worse = np.where(_HIGH, -1.0, 1.0) * self.figures
        below = (worse[..., None, :] < worse[..., None, :, :]).sum(axis=-3)
        equal = (worse[..., None, :] == worse[..., None, :, :]).sum(axis=-3)
        place = below + 0.5 * (equal + 1)
        known = np.where(np.isnan(self.figures), np.nan, 1.0).prod(axis=(-1, -2))
        return _mean(place.mean(axis=-1) * known[..., None])


def score(samples: Samples, algorithms: Iterable[str]) -> list[Score]:
    """The scores of the algorithms that have runs, over the suites on which TRPO has runs too."""
    grid = measured(samples, algorithms)
    if grid is None:
        return []
    draws = np.stack([grid.psi(), grid.ratio(), grid.rank()], axis=-1)
    suites = (~np.isnan(grid.figures[0]).any(axis=-1)).sum(axis=0)
    return [
        Score(name, int(count), *(_interval(three, int(count)) for three in draws[:, i].T))
        for i, (name, count) in enumerate(zip(grid.algorithms, suites, strict=True))
    ]


def score_printed(suites: Iterable[str], algorithms: Iterable[str]) -> list[Score]:
    """The scores of the printed figures."""
    samples = {
        (suite, name): {m.name: np.array([figures.of(m)]) for m in MEASURES}
        for (suite, name), figures in printed().items()
        if suite in set(suites)
    }
    return score(samples, algorithms)


def usable(samples: Samples) -> list[str]:
    """Suites on which TRPO has runs, and whose printed table is not a copy."""
    return [suite for suite, name in samples if name == "trpo" and suite not in COPIES]


def assess_scores(samples: Samples, algorithms: Iterable[str], better: str = "ascpo") -> list[Assessment]:
    """The claims that ψ of ASCPO is above that of every other algorithm, each over the suites that both have."""
    return [one for other in algorithms if other != better if (one := _above(samples, better, other)) is not None]


def measured(samples: Samples, algorithms: Iterable[str], seed: int = 0) -> Grid | None:
    """The measured means, and bootstrap samples of suites and seeds."""
    suites = usable(samples)
    names = ["trpo", *(n for n in algorithms if n != "trpo" and any((s, n) in samples for s in suites))]
    if not suites:
        return None
    rng = np.random.default_rng(seed)
    figures = np.full((1 + _DRAWS, len(suites), len(names), len(MEASURES)), np.nan)
    for i, suite in enumerate(suites):
        for j, name in enumerate(names):
            seeds = samples.get((suite, name))
            if seeds is None or any(m.name not in seeds for m in MEASURES):
                continue
            table = np.stack([seeds[m.name] for m in MEASURES], axis=-1)
            drawn = rng.integers(len(table), size=(_DRAWS, len(table)))
            figures[0, i, j], figures[1:, i, j] = table.mean(axis=0), table[drawn].mean(axis=1)
    which = rng.integers(len(suites), size=(_DRAWS, len(suites)))
    figures[1:] = np.take_along_axis(figures[1:], which[:, :, None, None], axis=1)
    return Grid(tuple(names), figures)


def _above(samples: Samples, better: str, other: str) -> Assessment | None:
    both = {key: seeds for key, seeds in samples.items() if {(key[0], better), (key[0], other)} <= set(samples)}
    grid = measured(both, [better, other])
    if grid is None or not {better, other} <= set(grid.algorithms):
        return None
    suites = usable(both)
    ours, theirs = (np.maximum(grid.psi()[:, grid.algorithms.index(name)], 1e-3) for name in (better, other))
    draws = np.log(ours / theirs)
    effect = of_draws(float(draws[0]), draws[1:]) if len(suites) >= FEW_SUITES else None
    printed = {s.algorithm: value(s.psi) for s in score_printed(suites, [better, other])}
    size = float(np.log(printed[better] / printed[other]))
    expected = size if size > 0 else None
    factors = effect and effect.map(np.exp), expected and float(np.exp(expected))
    return Assessment(f"ψ of {better} above {other}'s, over the suites", verdict(effect, expected), *factors)


def _parts(figures: np.ndarray) -> np.ndarray:
    """[…, algorithm, measure] → ratios to the first algorithm, above 1 where better."""
    floored = np.maximum(figures, _FLOORS)
    ratio = floored / floored[..., :1, :]
    return np.where(_HIGH, ratio, 1 / ratio)


def _mean(x: np.ndarray) -> np.ndarray:
    """[draw, suite, algorithm] → [draw, algorithm], over the suites that have runs."""
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # no suite has runs
        return np.nanmean(x, axis=1)


def _interval(draws: np.ndarray, suites: int) -> Interval | float:
    value = float(draws[0])
    return of_draws(value, draws[1:]) if suites >= FEW_SUITES and np.isfinite(value) else value


def value(score: Interval | float) -> float:
    return score.value if isinstance(score, Interval) else score
