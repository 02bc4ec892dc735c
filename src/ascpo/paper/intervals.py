"""Confidence intervals of 95 %, and the rule that turns them into a verdict on a claim.

An effect is a number that is above 0 if a claim is true. `printed` is the same effect in the printed figures.

    reproduced       the whole interval lies above 0, and the effect is at least half of the printed one
    weaker           the whole interval lies above 0, but the effect is smaller than that
    not reproduced   the interval reaches 0 or lies below, and does not reach half of the printed effect
    undecided        the interval reaches both and is too wide to tell, or there are fewer than two seeds

Where no number was printed, an interval above 0 reproduces the claim, and one at or below 0 does not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

Verdict = Literal["reproduced", "weaker", "not reproduced", "undecided"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "weaker", "not reproduced", "undecided")
LEVEL = 0.95


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


def verdict(effect: Interval | None, printed: float | None) -> Verdict:
    """The verdict by the rule above. None stands for an effect that cannot be estimated."""
    if effect is None:
        return "undecided"
    if effect.low > 0:
        return "weaker" if printed is not None and effect.value < printed / 2 else "reproduced"
    if effect.high <= 0 or (printed is not None and effect.high < printed / 2):
        return "not reproduced"
    return "undecided"


def of_mean(x: ArrayLike) -> Interval | None:
    """Student's interval of a mean. None if there are fewer than two numbers."""
    x = np.asarray(x, float)
    if len(x) < 2:
        return None
    return _student(float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x))), len(x) - 1)


def of_difference(x: ArrayLike, y: ArrayLike) -> Interval | None:
    """Welch's interval of mean x − mean y. None if either side has fewer than two numbers."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    if min(len(x), len(y)) < 2:
        return None
    vx, vy = x.var(ddof=1) / len(x), y.var(ddof=1) / len(y)
    below = vx**2 / (len(x) - 1) + vy**2 / (len(y) - 1)
    return _student(float(x.mean() - y.mean()), float(np.sqrt(vx + vy)), float((vx + vy) ** 2 / below) if below else 1)


def of_draws(value: float, draws: Sequence[float] | np.ndarray) -> Interval:
    """The percentile interval of bootstrap draws."""
    low, high = np.nanquantile(np.asarray(draws, float), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(value, float(low), float(high))


def _student(value: float, error: float, freedom: float) -> Interval:
    from scipy.stats import t

    width = error * float(t.ppf((1 + LEVEL) / 2, freedom)) if error else 0.0
    return Interval(value, value - width, value + width)
