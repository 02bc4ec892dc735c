"""Curves as SVG. The page's style sheet sets their colours, so that it can be light or dark."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from jaxtyping import Float

WIDTH, HEIGHT = 480, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 20, 10, 34
_POINTS = 300
"""The largest number of points of a curve, which is the number of visible pixels."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A run's metric over its steps."""

    name: str
    index: int
    """Its index among the runs, which gives it its colour."""
    x: Float[np.ndarray, " n"]
    y: Float[np.ndarray, " n"]


def svg(
    title: str,
    curves: Sequence[Curve],
    reference: float | None = None,
    *,
    share: bool = False,
    from_zero: bool = False,
) -> str:
    """A panel with axes, the curves, and a dashed line at the reference."""
    shown = [thinned(curve) for curve in curves if len(curve.x)]
    if not shown:
        return ""
    values = np.concatenate([curve.y for curve in shown] + ([np.array([reference])] if reference is not None else []))
    low, high = (0.0, 1.0) if share else _with_room(float(values.min()), float(values.max()), from_zero=from_zero)
    end = max(float(curve.x[-1]) for curve in shown) or 1.0
    scale = _Scale(end, low, high)
    parts = [*_horizontal(scale, share=share), *_vertical(scale)]
    if reference is not None:
        y = scale.y(reference)
        parts.append(f'<line class="limit" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
    parts += [_line(curve, scale, share=share) for curve in shown]
    label = escape(title, quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def thinned(curve: Curve) -> Curve:
    """The curve, with means of neighbouring points if it has many. Its last point is kept."""
    n = len(curve.x)
    if n <= _POINTS:
        return curve
    edges = np.linspace(0, n - 1, _POINTS).astype(int)
    sums = [np.add.reduceat(values[:-1], edges[:-1]) / np.diff(edges) for values in (curve.x, curve.y)]
    x, y = (np.append(mean, values[-1]) for mean, values in zip(sums, (curve.x, curve.y), strict=True))
    return Curve(curve.name, curve.index, x, y)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers within a range."""
    raw = (high - low) / most
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1.0, 2.0, 5.0, 10.0) if size * factor >= raw)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


@dataclass(frozen=True)
class _Scale:
    """Maps steps and values to pixels."""

    end: float
    low: float
    high: float

    def x(self, steps: float) -> float:
        return _LEFT + steps / self.end * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - _BOTTOM - (value - self.low) / (self.high - self.low) * (HEIGHT - _TOP - _BOTTOM)


def _with_room(low: float, high: float, *, from_zero: bool) -> tuple[float, float]:
    if from_zero and low >= 0.0:
        return 0.0, 1.05 * high or 1.0
    room = 0.05 * (high - low) or 0.05 * abs(high) or 0.5
    return low - room, high + room


def _horizontal(scale: _Scale, *, share: bool) -> list[str]:
    out = []
    for value in ticks(scale.low, scale.high):
        y = scale.y(value)
        out.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(value, share=share)}</text>')
    return out


def _vertical(scale: _Scale) -> list[str]:
    text = '<text x="{x:.1f}" y="{y}" text-anchor="middle">{steps}</text>'
    marks = [text.format(x=scale.x(s), y=HEIGHT - _BOTTOM + 16, steps=_steps(s)) for s in ticks(0.0, scale.end)]
    return [*marks, text.format(x=(WIDTH + _LEFT - _RIGHT) / 2, y=HEIGHT - 3, steps="steps")]


def _line(curve: Curve, scale: _Scale, *, share: bool) -> str:
    points = " ".join(f"{scale.x(x):.1f},{scale.y(y):.1f}" for x, y in zip(curve.x, curve.y, strict=True))
    label = escape(f"{curve.name}: {_number(float(curve.y[-1]), share=share)}")
    if len(curve.x) == 1:
        x, y = points.split(",")
        return f'<circle class="c{curve.index % 8}" cx="{x}" cy="{y}" r="3"><title>{label}</title></circle>'
    return f'<polyline class="c{curve.index % 8}" points="{points}"><title>{label}</title></polyline>'


def _number(value: float, *, share: bool) -> str:
    return f"{100 * value:.3g} %" if share else f"{value + 0.0:.4g}"


def _steps(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"
