"""Statistics over seeds.

The centre of four or more seeds is the interquartile mean, the mean without the best and the worst quarter, so that one
lucky seed does not decide. The centre of fewer seeds is the mean. The band is a 95 % bootstrap interval for three or
more seeds, and the range for fewer.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_ENOUGH_TO_TRIM = 4
_ENOUGH_TO_DRAW = 3
_DRAWS = 1000


@dataclass(frozen=True)
class Band:
    """The centre of several curves, and their spread."""

    middle: Float[np.ndarray, " x"]
    low: Float[np.ndarray, " x"]
    high: Float[np.ndarray, " x"]
    worst: Float[np.ndarray, " x"]
    """The curve of the seed that ends worst."""


def band_of(curves: Float[np.ndarray, "seed x"], *, more_is_better: bool) -> Band:
    """The band over the curves that have not ended; nan marks the end of a curve."""
    middle, low, high = (np.full(curves.shape[1], np.nan) for _ in range(3))
    known = np.isfinite(curves)
    # Columns with the same curves share their bootstrap samples.
    for pattern in np.unique(known, axis=1).T:
        here = (known == pattern[:, None]).all(axis=0)
        if pattern.any():
            middle[here], low[here], high[here] = _summary(curves[pattern][:, here])
    ends = np.array([_ending(curve) for curve in curves])
    worst = curves[np.argmin(ends if more_is_better else -ends)]
    return Band(middle, low, high, worst)


def stacked(curves: Sequence[Float[np.ndarray, " _"]]) -> Float[np.ndarray, "seed x"]:
    """The curves as rows, with nan after the end of a shorter one."""
    return np.array(list(itertools.zip_longest(*curves, fillvalue=np.nan)), float).T


def middle_of(values: Float[np.ndarray, "seed x"]) -> Float[np.ndarray, " x"]:
    """The interquartile mean of four or more seeds, otherwise the mean."""
    seeds = len(values)
    cut = seeds // 4 if seeds >= _ENOUGH_TO_TRIM else 0
    return np.sort(values, axis=0)[cut : seeds - cut].mean(axis=0)


def caption(seeds: int) -> str:
    """A caption for the curve of this many seeds."""
    if seeds == 1:
        return "The curve is one seed."
    middle = "interquartile mean" if seeds >= _ENOUGH_TO_TRIM else "mean"
    band = "95 % bootstrap interval" if seeds >= _ENOUGH_TO_DRAW else "range"
    return f"The curve is the {middle} of {seeds} seeds, the band their {band}, the thin line the seed that ends worst."


def smooth(y: Float[np.ndarray, " x"], width: int) -> Float[np.ndarray, " x"]:
    """The running mean over the last `width` epochs. It skips nan."""
    known = np.isfinite(y)
    sums, counts = (np.cumsum(np.insert(part, 0, 0.0)) for part in (np.where(known, y, 0.0), known))
    first = np.maximum(np.arange(1, len(y) + 1) - width, 0)
    count = counts[1:] - counts[first]
    mean = (sums[1:] - sums[first]) / np.maximum(count, 1.0)
    return np.where(known & (count > 0), mean, np.nan)


def _summary(values: Float[np.ndarray, "seed x"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    seeds = len(values)
    if seeds < _ENOUGH_TO_DRAW:
        return middle_of(values), values.min(axis=0), values.max(axis=0)
    draws = np.random.default_rng(0).integers(seeds, size=(_DRAWS, seeds))
    middles = np.stack([middle_of(values[draw]) for draw in draws])
    low, high = np.quantile(middles, (0.025, 0.975), axis=0)
    return middle_of(values), low, high


def _ending(curve: Float[np.ndarray, " x"]) -> float:
    """The mean of the last tenth of a curve."""
    known = curve[np.isfinite(curve)]
    return float(known[-max(1, len(known) // 10) :].mean()) if len(known) else np.nan
