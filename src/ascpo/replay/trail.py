"""Colours of what has been played and of what is to come: dark and pale, red where a limit is violated."""

import numpy as np
from jaxtyping import Bool, UInt8

_COLOURS = np.array([[[180, 182, 186], [250, 95, 85]], [[8, 8, 13], [242, 0, 0]]], np.uint8)
"""By whether it has been played, and whether it violates a limit."""


def trail_colours(violated: Bool[np.ndarray, " n"], played: Bool[np.ndarray, " n"]) -> UInt8[np.ndarray, "n 3"]:
    return _COLOURS[played.astype(int), violated.astype(int)]
