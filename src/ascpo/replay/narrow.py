"""Narrow pages, on which viser shows its panel at the bottom, over the scene."""

import numpy as np
from jaxtyping import UInt8

WIDTH = 576
"""In pixels. No wider page has its panel at the bottom: viser's smallest breakpoint, 36em."""
SHEET = 0.5
"""The part of the page's height that the panel takes at most."""
_PANEL = '.mantine-Paper-root[style*="bottom: 0"]'
STYLE = (
    "<style>@media (max-width: 36em) {"
    f"{_PANEL} {{max-height: {SHEET:.0%} !important}}"
    f'{_PANEL}, {_PANEL} [style*="width: 20em"] {{width: 100% !important}}'
    "}</style>"
)
"""The panel is as wide as the page. viser's own is 20em wide at the right edge, and covers half of the scene."""


def free_size(width: int, height: int) -> tuple[int, int]:
    """The width and height of the part of a page that its panel leaves free."""
    return (width, round(height * (1.0 - SHEET))) if width <= WIDTH else (width, height)


def above_panel(
    image: UInt8[np.ndarray, "height width 3"], size: tuple[int, int], paper: tuple[int, int, int]
) -> UInt8[np.ndarray, "taller width 3"]:
    """An image for the free part, with paper under it that makes it one for the whole page."""
    free, whole = free_size(*size)[1], size[1]
    out = np.empty((round(image.shape[0] * whole / free), *image.shape[1:]), np.uint8)
    out[:] = paper
    out[: image.shape[0]] = image
    return out


def view(width: int, height: int, arena: float) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Where the camera stands and looks, so that the whole arena is in the free part of the page.

    The angle of view is that of the height. So a page that is higher than wide needs a camera further away, and one
    that looks lower, so that the arena is above the panel.
    """
    far = max(1.0, 0.95 * height / width)
    look_at = -0.1 if width > WIDTH else -1.0 * far
    return (0.0, -2.6 * arena * far, 2.4 * arena * far), (0.0, look_at * arena, 0.0)
