"""Confidence intervals of means over seeds or episodes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

LEVEL = 0.95
"""The default level of all intervals."""


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence interval."""

    value: float
    low: float
    high: float

    def __add__(self, shift: float) -> "Interval":
        return Interval(self.value + shift, self.low + shift, self.high + shift)

    def map(self, change: Callable[[float], float]) -> "Interval":
        """The interval of a monotone function of the estimate."""
        low, high = sorted((change(self.low), change(self.high)))
        return Interval(change(self.value), low, high)


def of_mean(x: ArrayLike) -> Interval | None:
    """Student's interval of a mean. None if there are fewer than two numbers."""
    x = np.asarray(x, float)
    if len(x) < 2:
        return None
    return _student(float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x))), len(x) - 1, LEVEL)


def of_difference(x: ArrayLike, y: ArrayLike, level: float = LEVEL) -> Interval | None:
    """Welch's interval of mean x − mean y. None if either side has fewer than two numbers."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    if min(len(x), len(y)) < 2:
        return None
    vx, vy = x.var(ddof=1) / len(x), y.var(ddof=1) / len(y)
    below = vx**2 / (len(x) - 1) + vy**2 / (len(y) - 1)
    freedom = float((vx + vy) ** 2 / below) if below else 1
    return _student(float(x.mean() - y.mean()), float(np.sqrt(vx + vy)), freedom, level)


def of_means(x: ArrayLike, y: ArrayLike, deviation: float, freedom: float) -> Interval:
    """Student's interval of mean x − mean y, with a standard deviation that is known from other numbers as well."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    error = deviation * math.sqrt(1 / len(x) + 1 / len(y))
    return _student(float(x.mean() - y.mean()), error, freedom, LEVEL)


def of_shares(x: np.ndarray, y: np.ndarray) -> Interval:
    """Newcombe's interval of the difference of two shares, from Wilson's of each."""
    from scipy import stats

    ends = [stats.binomtest(int(one.sum()), len(one)).proportion_ci(LEVEL, method="wilson") for one in (x, y)]
    p, q = float(x.mean()), float(y.mean())
    below = math.hypot(p - ends[0].low, ends[1].high - q)
    above = math.hypot(ends[0].high - p, q - ends[1].low)
    return Interval(p - q, p - q - below, p - q + above)


def of_draws(value: float, draws: Sequence[float] | np.ndarray) -> Interval:
    """The percentile interval of bootstrap draws."""
    low, high = np.nanquantile(np.asarray(draws, float), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(value, float(low), float(high))


def _student(value: float, error: float, freedom: float, level: float) -> Interval:
    # Imported here: not every report needs it.
    from scipy.special import stdtrit

    width = error * float(stdtrit(freedom, (1 + level) / 2)) if error else 0.0
    return Interval(value, value - width, value + width)
