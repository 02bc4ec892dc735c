"""Axes of arrays: one number for each step or environment meets several."""

from jaxtyping import Array, Shaped


def aligned(x: Shaped[Array, "*axes"], other: Shaped[Array, "*axes_of_other"]) -> Shaped[Array, "*axes_and_ones"]:
    """x with axes of length 1 at its end, until it has as many axes as the other array and broadcasts with it."""
    return x.reshape(x.shape + (1,) * (other.ndim - x.ndim))
