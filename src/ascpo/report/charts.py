"""The numbers of a learning curve, for a plot that the browser draws and the reader can zoom.

The page contains uPlot (`vendor/`), which draws them. Without scripts a browser shows the drawing of the same curve.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np


@dataclass(frozen=True)
class Line:
    """The curve of a group: its centre and, for several seeds, a band and the worst seed."""

    label: str
    index: int
    """The index of the group, for its colour."""
    x: np.ndarray
    middle: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    worst: np.ndarray | None = None


@dataclass(frozen=True)
class Chart:
    """A plot of curves."""

    x: str
    """The label of the horizontal axis."""
    y: str
    """The label of the vertical axis."""
    lines: tuple[Line, ...]
    reference: tuple[float, str] | None = None
    share: bool = False
    """The vertical axis is in percent."""
    logarithmic: bool = False
    from_zero: bool = False

    def numbers(self) -> str:
        """The chart in JSON. All lines share the points of the horizontal axis; null is a gap."""
        points = np.unique(np.concatenate([line.x for line in self.lines]))
        lines = [
            {"label": line.label, "hue": line.index}
            | {
                name: _numbers(_spread(points, line.x, values))
                for name in ("middle", "low", "high", "worst")
                if (values := getattr(line, name)) is not None
            }
            for line in self.lines
        ]
        about = {name: getattr(self, name) for name in ("x", "y", "share", "logarithmic", "reference")}
        about["fromZero"] = self.from_zero
        return json.dumps(about | {"points": _numbers(points), "lines": lines}, separators=(",", ":"))


@cache
def library() -> tuple[str, str]:
    """The script (with its licence) and the style of the library. The page loads nothing from the network."""
    folder = files("ascpo.report") / "vendor"
    licence, script, style = (
        (folder / name).read_text(encoding="utf-8") for name in ("uPlot.LICENSE", "uPlot.iife.min.js", "uPlot.min.css")
    )
    _, _, script = script.partition("*/")
    return f"/* uPlot\n{licence.strip()}\n*/{script}", style


@cache
def program() -> str:
    """The script that draws the charts of a page."""
    return (files("ascpo.report") / "templates" / "charts.js").read_text(encoding="utf-8")


def _spread(points: np.ndarray, x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The values at the points, and nan where there is none."""
    spread = np.full(len(points), np.nan)
    spread[np.searchsorted(points, x)] = values
    return spread


def _numbers(values: Sequence[float] | np.ndarray) -> list[float | None]:
    """Rounded to five digits, more than a screen shows."""
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in values]
