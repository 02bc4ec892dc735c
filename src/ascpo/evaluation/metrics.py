"""Figures of episodes, under the names of the log, with intervals of 95 %.

Means, quantiles and rates have bootstrap intervals, shares exact ones. The worst cost has none: a sample does not show
how much larger it can be.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from ascpo.evaluation.intervals import LEVEL
from ascpo.runs.episodes import Episodes
from ascpo.runs.serialization import Plain
from ascpo.runs.tables import Row
from ascpo.seeding import EpisodeId

_RESAMPLES = 1000

MEANINGS = {
    "Episodes": "number of episodes",
    "EpRet": "mean return",
    "EpCost": "mean sum of costs, all constraints together",
    "EpLen": "mean number of steps",
    "CostRate": "cost per step",
    "EpMaxCost": "mean of an episode's largest cost, of the worst constraint",
    "EpMaxCostMedian": "median of the largest cost",
    "EpMaxCost95": "largest cost that 95 % of the episodes stay under",
    "EpMaxCost99": "largest cost that 99 % of the episodes stay under",
    "EpMaxCostWorst": "the largest cost of any state",
    "SafeRate": "share of episodes that kept every limit, of every state or of an episode's sum",
    "TimeoutRate": "share of episodes that the time limit ended",
    "FirstViolation": "step of the first violation, median of the episodes that have one",
    "ViolatingSteps": "mean number of steps over a limit",
    "Interventions": "share of the steps whose action a shield changed",
}

Figures = Plain
Statistic = Callable[..., np.ndarray]


def measure(episodes: Episodes, names: tuple[str, ...]) -> Figures:
    """All figures, and their intervals under `intervals`. With several constraints, each also has its own figures."""
    found: Figures = {}
    intervals: dict[str, list[float]] = {}
    from scipy import stats  # Imported here because it takes a second.

    def note(name: str, statistic: Statistic, *samples: Float[np.ndarray, " n"]) -> None:
        found[name] = float(statistic(*samples, axis=-1))
        intervals[name] = _bootstrap(statistic, samples, found[name])

    def share(name: str, which: np.ndarray) -> None:
        found[name] = float(which.mean())
        interval = stats.binomtest(int(which.sum()), len(which)).proportion_ci(LEVEL, method="exact")
        intervals[name] = [float(interval.low), float(interval.high)]

    largest, cost = episodes.maximum.max(axis=1), episodes.cost.sum(axis=1)
    worst = int(np.argmax(episodes.maximum.mean(axis=0)))
    first = np.where(episodes.first_violation < 0, np.inf, episodes.first_violation).min(axis=1)
    violating = episodes.violating.max(axis=1).astype(float)
    length = episodes.length.astype(float)
    found["Episodes"] = len(episodes)
    note("EpRet", np.mean, episodes.reward)
    note("EpCost", np.mean, cost)
    note("EpLen", np.mean, length)
    note("CostRate", _rate, cost, length)
    note("EpMaxCost", np.mean, episodes.maximum[:, worst])
    note("EpMaxCostMedian", np.median, largest)
    note("EpMaxCost95", _quantile(0.95), largest)
    note("EpMaxCost99", _quantile(0.99), largest)
    found["EpMaxCostWorst"] = float(largest.max())
    share("SafeRate", episodes.safe)
    share("TimeoutRate", episodes.time_limited)
    found["FirstViolation"] = float(np.median(first[np.isfinite(first)])) if np.isfinite(first).any() else None
    note("ViolatingSteps", np.mean, violating)
    note("Interventions", _rate, episodes.interventions.astype(float), length)
    if len(names) > 1:
        for i, name in enumerate(names):
            note(f"EpCost_{name}", np.mean, episodes.cost[:, i])
            note(f"EpMaxCost_{name}", np.mean, episodes.maximum[:, i])
            share(f"SafeRate_{name}", episodes.first_violation[:, i] < 0)
    return found | {"intervals": intervals}


def table(episodes: Episodes, names: tuple[str, ...], origins: Sequence[EpisodeId]) -> list[Row]:
    """The rows of `episodes-*.csv`, one for each episode."""
    columns = {
        "EpRet": episodes.reward,
        "EpLen": episodes.length,
        "Timeout": episodes.time_limited.astype(int),
        "Safe": episodes.safe.astype(int),
        "Interventions": episodes.interventions,
    }
    for j, name in enumerate(names):
        suffix = f"_{name}" if len(names) > 1 else ""
        columns[f"EpCost{suffix}"] = episodes.cost[:, j]
        columns[f"EpMaxCost{suffix}"] = episodes.maximum[:, j]
        columns[f"FirstViolation{suffix}"] = episodes.first_violation[:, j]
        columns[f"ViolatingSteps{suffix}"] = episodes.violating[:, j]
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    names = ("Seed", "Episode", *columns)
    return [dict(zip(names, (*origin, *row), strict=True)) for origin, row in zip(origins, rows, strict=True)]


def _bootstrap(statistic: Statistic, samples: tuple[Float[np.ndarray, " n"], ...], value: float) -> list[float]:
    if len(samples[0]) < 2 or all(np.ptp(sample) == 0 for sample in samples):
        return [value, value]
    from scipy import stats

    # Percentiles, because the corrected methods divide by zero if most episodes have no cost.
    interval = stats.bootstrap(
        samples,
        statistic,
        paired=len(samples) > 1,
        vectorized=True,
        n_resamples=_RESAMPLES,
        batch=100,
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return [float(interval.low), float(interval.high)]


def _rate(amount: np.ndarray, steps: np.ndarray, axis: int = -1) -> np.ndarray:
    return amount.sum(axis=axis) / steps.sum(axis=axis)


def _quantile(share: float) -> Statistic:
    # Without interpolation, a quantile is always an observed value.
    return lambda sample, axis=-1: np.quantile(sample, share, axis=axis, method="inverted_cdf")
