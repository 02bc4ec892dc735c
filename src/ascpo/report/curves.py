"""Curves over the training: what was learnt, and what the optimiser did."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes

from ascpo.report import seeds
from ascpo.report.groups import Group, file_name, slots
from ascpo.report.style import LIMIT, Drawn, Missing, colour, dashes, from_zero, label, legend, panel, plain_numbers

_RAW_UP_TO = 3
"""With more groups, what a running mean was made from would only be noise."""
_POINTS = 240
_POWERS = 20.0
_OWN = ("EpCost", "EpMaxCost")
"""Of several constraints, each has one of these."""


@dataclass(frozen=True)
class Quantity:
    """A column that is drawn."""

    column: str
    title: str
    what: str
    """What it means, for the caption."""
    more_is_better: bool = False
    smooth: bool = True
    share: bool = False
    """Drawn in percent."""
    from_zero: bool = True
    logarithmic: bool = False
    """Drawn so where values are powers of ten apart."""
    each: bool = False
    """Every constraint has one of its own."""
    reference: Callable[[Group, str], tuple[float, str] | None] = lambda group, constraint: None
    """A value to draw beside it, and its name, where all groups agree on it."""


def _limit(group: Group, constraint: str) -> tuple[float, str] | None:
    limits = {group.limit(constraint)} if constraint else set(group.first.limits)
    return (limits.pop(), "limit") if len(limits) == 1 else None


def _promise(group: Group, constraint: str) -> tuple[float, str]:
    return group.first.probability, f"promised: {group.first.probability:.4g}"


def _radius(group: Group, constraint: str) -> tuple[float, str] | None:
    delta = group.first.setting("trust_region.delta", None)
    return None if delta is None else (float(delta), "δ, the region's radius")


LEARNING = (
    Quantity(
        "EpRet",
        "Return of an episode",
        "Mean over the episodes that finished in an epoch",
        more_is_better=True,
        from_zero=False,
    ),
    Quantity(
        "EpCost",
        "Cost of an episode, M_c",
        "Mean sum of the costs of a finished episode, of all constraints",
        logarithmic=True,
    ),
    Quantity(
        "EpMaxCost",
        "Largest cost of an episode",
        "Mean over finished episodes, of the worst constraint",
        reference=_limit,
    ),
    Quantity(
        "SafeRate",
        "Episodes within all limits",
        "Share of the finished episodes that kept every limit in every state",
        more_is_better=True,
        share=True,
        from_zero=False,
        reference=_promise,
    ),
    Quantity("CostRate", "Cost rate, ρ_c", "Cost per step since the training began", smooth=False),
)
OPTIMISER = (
    Quantity(
        "Nu",
        "Multiplier of the constraint, ν",
        "What a step pays for a unit of the constraint",
        smooth=False,
        logarithmic=True,
        each=True,
    ),
    Quantity("Multiplier", "Price of costs", "The multiplier in the objective, where there is one", smooth=False),
    Quantity(
        "AskShare",
        "Share that the constraints could get",
        "Of the trust region's radius",
        share=True,
        smooth=False,
        from_zero=False,
    ),
    Quantity("KL", "Divergence of a step", "Mean KL of the step taken, in nats", smooth=False, reference=_radius),
    Quantity("ShieldRate", "Actions that a shield changed", "Share of all actions", share=True, smooth=False),
    Quantity("VaR", "Value at risk of an episode's cost", "What a share α of the episodes cost at most", smooth=False),
    Quantity("CVaR", "Mean cost of the worst episodes", "Of those beyond the value at risk", smooth=False),
)


def learning_curves(groups: Sequence[Group]) -> list[Drawn | Missing]:
    """Over steps."""
    axis = _over_steps(groups)
    found = [_curve(groups, quantity, axis) for quantity in LEARNING]
    for constraint, having in slots(groups).items():
        # A single constraint's own are those of all together.
        for quantity in LEARNING if constraint else ():
            if quantity.column in _OWN:
                own = replace(quantity, each=True)
                found.append(_curve(having, own, axis, constraint=constraint, indices=_indices(groups)))
    return found


def clock_curves(groups: Sequence[Group]) -> list[Drawn | Missing]:
    """Over the seconds of work that the training took."""
    timed = [group for group in groups if group.columns("WallClock") is not None]
    if not timed:
        return [Missing("Curves over time", "The runs have no timing.csv, which training writes beside metrics.csv.")]
    silent = [group.label for group in groups if group not in timed]
    found = [_curve(timed, quantity, _over_time(timed), indices=_indices(groups)) for quantity in LEARNING]
    if silent:
        found.append(Missing(f"Curves over time of {', '.join(silent)}", "There is no timing.csv."))
    return found


def optimiser_curves(groups: Sequence[Group]) -> list[Drawn | Missing]:
    """What there is of multipliers, asks, divergences, shields and tails, over epochs."""
    found: list[Drawn | Missing] = []
    for quantity in OPTIMISER:
        for constraint, having in slots(groups).items() if quantity.each else [(None, groups)]:
            worth = [group for group in having if _worth(group, quantity.column, constraint)]
            if worth:
                found.append(
                    _curve(worth, quantity, _over_epochs(), constraint=constraint or "", indices=_indices(groups))
                )
    return found


@dataclass(frozen=True)
class _Axis:
    name: str
    label: str
    place: Callable[[Group, np.ndarray], tuple[np.ndarray, np.ndarray]]
    """A group's curves [seed, epoch] → where they are drawn, and what."""


def _over_steps(groups: Sequence[Group]) -> _Axis:
    most = max(float(group.steps[-1]) for group in groups)
    unit, word = (1e6, "million steps") if most >= 1e6 else (1e3, "thousand steps") if most >= 1e4 else (1.0, "steps")
    return _Axis("steps", word, lambda group, curves: (group.steps / unit, curves))


def _over_epochs() -> _Axis:
    return _Axis("epochs", "epoch", lambda group, curves: (np.arange(curves.shape[1]), curves))


def _over_time(groups: Sequence[Group]) -> _Axis:
    longest = max(float(np.nanmax(run.timing["WallClock"])) for group in groups for run in group.runs)
    unit, word = (3600.0, "hours") if longest >= 7200 else (60.0, "minutes") if longest >= 120 else (1.0, "seconds")

    def place(group: Group, curves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        clocks = [run.timing["WallClock"][: run.epochs] / unit for run in group.runs]
        if len(clocks) == 1:
            return clocks[0], curves[:, : len(clocks[0])]
        # Seeds take different times, so they are read off at the same ones.
        grid = np.linspace(min(clock[0] for clock in clocks), max(clock[-1] for clock in clocks), _POINTS)
        return grid, np.stack(
            [
                np.interp(grid, clock, curve[: len(clock)], left=np.nan, right=np.nan)
                for clock, curve in zip(clocks, curves, strict=True)
            ]
        )

    return _Axis("clock", f"{word} of work", place)


def _curve(
    groups: Sequence[Group],
    quantity: Quantity,
    axis: _Axis,
    *,
    constraint: str = "",
    indices: dict[str, int] | None = None,
) -> Drawn | Missing:
    indices = indices or _indices(groups)
    title = f"{quantity.title}: {constraint}" if constraint else quantity.title
    own = constraint if quantity.each else None
    having = {group: found for group in groups if (found := group.columns(quantity.column, own)) is not None}
    if not having:
        return Missing(title, f"metrics.csv has no column {quantity.column}: the run is older than it.")
    figure, axes = panel(title, axis.label, "")
    scale = 100.0 if quantity.share else 1.0
    for group, found in having.items():
        _draw(axes, group, found * scale, quantity, axis, indices[group.slug], raw=len(having) <= _RAW_UP_TO)
    _reference(axes, {quantity.reference(group, constraint) for group in having}, scale)
    logarithmic = quantity.logarithmic and _far_apart(axes)
    if logarithmic:
        axes.set_yscale("log")
        plain_numbers(axes.yaxis)
    elif quantity.from_zero:
        from_zero(axes)
    if quantity.share:
        axes.yaxis.set_major_formatter("{x:g} %")
    axes.margins(x=0.01)
    legend(axes)
    widths = {_width(found) for found in having.values()}
    name = "-".join(filter(None, (quantity.column.lower(), axis.name, file_name(constraint))))
    caption = _caption(quantity, list(having), widths) + (" The scale is logarithmic." if logarithmic else "")
    return Drawn(name, f"{title} over {axis.label}", caption, figure)


def _draw(
    axes: Axes, group: Group, found: np.ndarray, quantity: Quantity, axis: _Axis, index: int, *, raw: bool
) -> None:
    width = _width(found) if quantity.smooth else 1
    x, smooth = axis.place(group, np.stack([seeds.smooth(curve, width) for curve in found]))
    hue, line = colour(index), dashes(index)
    # A single epoch makes no line.
    dot = "o" if len(x) == 1 else ""
    if len(found) == 1:
        if raw and width > 1:
            axes.plot(x, axis.place(group, found)[1][0], color=hue, linewidth=0.7, alpha=0.35)
        axes.plot(x, smooth[0], color=hue, linestyle=line, marker=dot, label=label(group.label))
        return
    band = seeds.band_of(smooth, more_is_better=quantity.more_is_better)
    axes.fill_between(x, band.low, band.high, color=hue, alpha=0.16, linewidth=0)
    axes.plot(x, band.worst, color=hue, linewidth=0.7, alpha=0.8)
    axes.plot(x, band.middle, color=hue, linestyle=line, marker=dot, label=label(group.label))


def _reference(axes: Axes, values: set[tuple[float, str] | None], scale: float) -> None:
    """A line to compare with, where there is one for all."""
    found = values.pop() if len(values) == 1 else None
    if found is not None:
        value, name = found
        axes.axhline(value * scale, color=LIMIT, linewidth=1.0, linestyle=(0, (4, 2)), label=name)


def _caption(quantity: Quantity, groups: Sequence[Group], widths: set[int]) -> str:
    parts = [f"{quantity.what}."]
    if quantity.smooth and max(widths) > 1:
        span = " to ".join(map(str, sorted({min(widths), max(widths)})))
        parts.append(f"Running mean over {span} epochs" + (", pale: each epoch." if len(groups) <= _RAW_UP_TO else "."))
    counts = sorted({len(group.runs) for group in groups})
    if counts != [1]:
        parts.append("; or ".join(seeds.words(count) for count in counts).capitalize() + ".")
    return " ".join(parts)


def _far_apart(axes: Axes) -> bool:
    """Whether the curves, all above zero, span so much that the small ones would look the same."""
    values = np.concatenate([np.asarray(line.get_ydata(), float) for line in axes.get_lines()])
    values = values[np.isfinite(values)]
    return bool(len(values) and values.min() > 0 and values.max() > _POWERS * np.median(values))


def _width(found: np.ndarray) -> int:
    """Of a running mean: a twentieth of the run."""
    return max(1, found.shape[1] // 20)


def _worth(group: Group, column: str, constraint: str | None) -> bool:
    """Whether the column says anything of this group's algorithm: without a constraint none asks for a share."""
    if column == "AskShare" and all(group.columns("Nu", name) is None for name in group.constraints):
        return False
    return group.columns(column, constraint) is not None


def _indices(groups: Sequence[Group]) -> dict[str, int]:
    """A group has the same colour in every figure."""
    return {group.slug: index for index, group in enumerate(groups)}
