"""The background of the page for a user's own environment: its frames, or a drawing of the costs without frames."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8

PAPER = {False: (255, 255, 255), True: (26, 27, 30)}
"""The colour around a frame, by whether the page is dark."""
_INK, _QUIET, _RED = {False: "#1f2328", True: "#e4e7ea"}, {False: "#6a737d", True: "#9aa4ae"}, "#e0564b"
SIZE = (1200, 900)
"""Width and height of the picture in pixels, where those of the page are not known."""


@dataclass(frozen=True)
class Curve:
    """A quantity over the steps of an episode, with a mark at the present step."""

    name: str
    value: Float[np.ndarray, " time"]
    limit: float | None = None
    unit: str = ""

    @property
    def title(self) -> str:
        """The name with its unit, over steps."""
        return f"{self.name}{f' in {self.unit}' if self.unit else ''}, by step"

    @property
    def range(self) -> tuple[float, float]:
        """The range of the vertical axis, with some room at both ends."""
        shown = [*self.value, 0.0 if self.limit is None else self.limit]
        low, high = float(min(shown)), float(max(shown))
        room = 0.08 * (high - low) or 0.1
        return low - room, high + room

    def columns(self, step: int) -> tuple[Float[np.ndarray, " time"], ...]:
        """Steps, values, the mark at the present step, and the limit if there is one. The plot skips NaN."""
        steps = np.arange(len(self.value), dtype=float)
        mark = np.where(steps == step, self.value, np.nan)
        limits = () if self.limit is None else (np.full_like(steps, self.limit),)
        return steps, self.value, mark, *limits


@dataclass(frozen=True)
class Drawing:
    """Curves, and the column of pixels of each step."""

    image: UInt8[np.ndarray, "height width 3"]
    columns: np.ndarray

    def at(self, step: int) -> UInt8[np.ndarray, "height width 3"]:
        """The drawing with a line at this step."""
        image, column = self.image.copy(), int(self.columns[step])
        image[:, max(column - 1, 0) : column + 1] = (224, 86, 75)
        return image


def draw_curves(curves: Sequence[Curve], size: tuple[int, int] = SIZE, *, dark: bool) -> Drawing:
    """The curves of an episode below each other, in a picture of this width and height."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    red, green, blue = PAPER[dark]
    paper = (red / 255, green / 255, blue / 255)
    figure = Figure(figsize=(size[0] / 100, size[1] / 100), dpi=100, facecolor=paper, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    every = figure.subplots(len(curves), 1, sharex=True, squeeze=False)[:, 0]
    for axes, curve in zip(every, curves, strict=True):
        axes.set_facecolor(paper)
        axes.plot(np.arange(len(curve.value)), curve.value, color=_INK[dark], linewidth=1.6)
        if curve.limit is not None:
            axes.axhline(curve.limit, color=_RED, linestyle=(0, (4, 2)))
        axes.set_ylim(*curve.range)
        # Names come from files: a dollar sign in them starts no formula.
        axes.set_title(curve.name, color=_INK[dark], loc="left", parse_math=False)
        axes.set_ylabel(curve.unit, color=_QUIET[dark])
        axes.tick_params(colors=_QUIET[dark])
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(_QUIET[dark])
    every[-1].set_xlabel("step", color=_QUIET[dark])
    every[-1].xaxis.set_major_locator(MaxNLocator(8, integer=True))
    canvas.draw()
    steps = np.arange(len(curves[0].value))
    places = every[-1].transData.transform(np.stack([steps, 0 * steps], axis=1))[:, 0]
    return Drawing(np.asarray(canvas.buffer_rgba())[..., :3].copy(), places.round().astype(int))


def padded(
    frame: UInt8[np.ndarray, "height width 3"], size: tuple[int, int] = SIZE, *, dark: bool
) -> UInt8[np.ndarray, "taller wider 3"]:
    """The frame with margins that give it the proportions of the page, which would stretch it otherwise."""
    height, width = frame.shape[:2]
    wide, tall = size
    whole = (max(height, round(width * tall / wide)), max(width, round(height * wide / tall)))
    out = np.empty((*whole, 3), np.uint8)
    out[:] = PAPER[dark]
    top, left = (whole[0] - height) // 2, (whole[1] - width) // 2
    out[top : top + height, left : left + width] = frame
    return out
