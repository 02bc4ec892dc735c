"""What several seeds say together.

With four or more the interquartile mean: the mean without the best and the worst quarter, so that one lucky seed does
not make a method. With fewer the mean. The band is a 95 % bootstrap over seeds from three on, and all there is before.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_ENOUGH_TO_TRIM = 4
_ENOUGH_TO_DRAW = 3
_DRAWS = 1000


@dataclass(frozen=True)
class Band:
    """The middle of several curves, and how far they are apart."""

    middle: Float[np.ndarray, " x"]
    low: Float[np.ndarray, " x"]
    high: Float[np.ndarray, " x"]
    worst: Float[np.ndarray, " x"]
    """The curve of the seed that ends worst."""


def band_of(curves: Float[np.ndarray, "seed x"], *, more_is_better: bool) -> Band:
    """Where some curves have ended (nan), the others speak."""
    middle, low, high = (np.full(curves.shape[1], np.nan) for _ in range(3))
    known = np.isfinite(curves)
    # Columns with the same curves in them are done at once, with the same draws.
    for pattern in np.unique(known, axis=1).T:
        here = (known == pattern[:, None]).all(axis=0)
        if pattern.any():
            middle[here], low[here], high[here] = _summed_up(curves[pattern][:, here])
    ends = np.array([_ending(curve) for curve in curves])
    worst = curves[np.argmin(ends if more_is_better else -ends)]
    return Band(middle, low, high, worst)


def middle_of(values: Float[np.ndarray, "seed x"]) -> Float[np.ndarray, " x"]:
    """The interquartile mean of enough seeds, else the mean."""
    seeds = len(values)
    cut = seeds // 4 if seeds >= _ENOUGH_TO_TRIM else 0
    return np.sort(values, axis=0)[cut : seeds - cut].mean(axis=0)


def words(seeds: int) -> str:
    """What a curve of so many seeds is, for a caption."""
    if seeds == 1:
        return "one seed"
    middle = "interquartile mean" if seeds >= _ENOUGH_TO_TRIM else "mean"
    band = "95 % bootstrap interval" if seeds >= _ENOUGH_TO_DRAW else "least to most"
    return f"{middle} of {seeds} seeds; band: {band}; thin line: the seed that ends worst"


def smooth(y: Float[np.ndarray, " x"], width: int) -> Float[np.ndarray, " x"]:
    """A running mean over so many epochs up to each. What is not a number counts nothing."""
    known = np.isfinite(y)
    sums, counts = (np.cumsum(np.insert(part, 0, 0.0)) for part in (np.where(known, y, 0.0), known))
    first = np.maximum(np.arange(1, len(y) + 1) - width, 0)
    count = counts[1:] - counts[first]
    mean = (sums[1:] - sums[first]) / np.maximum(count, 1.0)
    return np.where(known & (count > 0), mean, np.nan)


def _summed_up(values: Float[np.ndarray, "seed x"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    seeds = len(values)
    if seeds < _ENOUGH_TO_DRAW:
        return middle_of(values), values.min(axis=0), values.max(axis=0)
    draws = np.random.default_rng(0).integers(seeds, size=(_DRAWS, seeds))
    middles = np.stack([middle_of(values[draw]) for draw in draws])
    low, high = np.quantile(middles, (0.025, 0.975), axis=0)
    return middle_of(values), low, high


def _ending(curve: Float[np.ndarray, " x"]) -> float:
    """The mean of the last tenth of what there is."""
    known = curve[np.isfinite(curve)]
    return float(known[-max(1, len(known) // 10) :].mean()) if len(known) else np.nan
