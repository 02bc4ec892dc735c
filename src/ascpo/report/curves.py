"""Learning curves, and curves of the optimiser."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes

from ascpo.report import seeds, style
from ascpo.report.charts import Chart, Line
from ascpo.report.groups import Group, by_constraint, file_name
from ascpo.report.style import MissingPlot, Plot, titled

_RAW_UP_TO = 3
"""Up to this many groups, single epochs are drawn behind their running mean."""
_GRID = 240
"""Points of a curve over time."""
_LOGARITHMIC = 20.0
"""A scale is logarithmic if the largest value is more than this many times the median."""
_OWN = ("EpCost", "EpMaxCost")
"""Columns that the log also has for each of several constraints."""


@dataclass(frozen=True)
class Quantity:
    """A column of the log, and how its curve looks."""

    column: str
    title: str
    y: str
    """The label of the vertical axis, with symbols between dollar signs."""
    meaning: str
    """For the caption."""
    meaning_of_one: str = ""
    """For the caption of the curve of a single constraint, if it differs."""
    more_is_better: bool = False
    smooth: bool = True
    share: bool = False
    """Its axis is in percent."""
    from_zero: bool = True
    logarithmic: bool = False
    """Its axis may be logarithmic."""
    per_constraint: bool = False
    """Every constraint has its own column."""
    sparse: bool = False
    """Only some epochs have a value: the line joins them, and its running mean is over a quarter of the run."""
    reference: Callable[[Group, str], tuple[float, str] | None] = lambda group, constraint: None
    """A value for a reference line, and its name. The line is drawn if all groups agree on it."""

    def of(self, group: Group, constraint: str) -> np.ndarray | None:
        return group.columns(self.column, constraint if self.per_constraint else None)


def _limit_of_states(group: Group, constraint: str) -> tuple[float, str] | None:
    limits = {group.limit_on("state", name) for name in ([constraint] if constraint else group.constraints)}
    limit = limits.pop() if len(limits) == 1 else None
    return None if limit is None else (limit, "limit")


def _limit_of_sums(group: Group, constraint: str) -> tuple[float, str] | None:
    """The cost over several constraints has no limit."""
    names = [constraint] if constraint else group.constraints
    limit = group.limit_on("episode", names[0]) if len(names) == 1 else None
    return None if limit is None else (limit, "limit")


def _radius(group: Group, constraint: str) -> tuple[float, str] | None:
    delta = group.first.settings.get("trust_region.delta")
    return None if delta is None else (float(delta), "δ, the radius of the trust region")


LEARNING = (
    Quantity(
        "EpRet", "Return of an episode", "return, $J_r$",
        "The mean over the episodes that finish in an epoch",
        more_is_better=True, from_zero=False,
    ),
    Quantity(
        "EpCost", "Cost of an episode", "cost, $M_c$",
        "The mean sum of the costs of a finished episode, over all constraints",
        logarithmic=True, meaning_of_one="The mean sum of the costs of this constraint in a finished episode",
        reference=_limit_of_sums,
    ),
    Quantity(
        "EpMaxCost", "Largest cost of an episode", "largest cost",
        "The mean over finished episodes, for the worst constraint",
        reference=_limit_of_states, meaning_of_one="The mean over finished episodes, for this constraint",
    ),
    Quantity(
        "SafeRate", "Episodes within all limits", "share of episodes",
        "The share of finished episodes that keep every limit",
        more_is_better=True, share=True, from_zero=False,
        reference=lambda group, _: (group.first.probability, f"target: {group.first.probability:.4g}"),
    ),
    Quantity(
        "CostRate", "Cost rate", "cost per step, $ρ_c$", "The cost per step since the training began", smooth=False
    ),
)  # fmt: skip
OPTIMISER = (
    Quantity(
        "Nu", "Multiplier of the constraint", "multiplier, $ν$",
        "The Lagrange multiplier of the constraint in the step",
        smooth=False, logarithmic=True, per_constraint=True,
    ),
    Quantity("Multiplier", "Multiplier of the penalty", "multiplier", "The weight of the penalty", smooth=False),
    Quantity(
        "AskShare", "Share of the constraints", "share of the radius",
        "The share of the trust region's radius that the constraints can use",
        share=True, smooth=False, from_zero=False,
    ),
    Quantity(
        "CostSignal", "Signal of the cost gradient", "share that is no noise",
        "The share of the predicted change of the constraint that is no noise, by the two halves of the environments",
        sparse=True, per_constraint=True, more_is_better=True, from_zero=False,
        reference=lambda group, _: (0.0, "nothing but noise"),
    ),
    Quantity("KL", "KL of a step", "KL in nats", "The mean KL divergence of the step", smooth=False, reference=_radius),
    Quantity(
        "ShieldRate", "Actions that the shield changes", "share of actions", "The share of all actions",
        share=True, smooth=False,
    ),
    Quantity(
        "VaR", "Value at risk of an episode's cost", "cost", "A share α of the episodes costs at most this",
        smooth=False,
    ),
    Quantity("CVaR", "Mean cost of the worst episodes", "cost", "The mean beyond the value at risk", smooth=False),
)  # fmt: skip


def learning_curves(groups: Sequence[Group]) -> list[Plot | MissingPlot]:
    """Learning curves over environment steps."""
    axis = _over_steps(groups)
    found = [_curve(groups, quantity, axis) for quantity in LEARNING]
    per_constraint = [
        replace(quantity, per_constraint=True, meaning=quantity.meaning_of_one or quantity.meaning)
        for quantity in LEARNING
        if quantity.column in _OWN
    ]
    for constraint, having in by_constraint(groups).items():
        # The columns of a single constraint are those of all constraints together.
        found += [_curve(having, quantity, axis, constraint) for quantity in per_constraint if constraint]
    return found


def clock_curves(groups: Sequence[Group]) -> list[Plot | MissingPlot]:
    """Learning curves over the time of training."""
    timed = [group for group in groups if group.columns("WallClock") is not None]
    if not timed:
        return [MissingPlot("Curves over time", "The runs have no timing.csv. Training writes it next to metrics.csv.")]
    axis, untimed = _over_time(timed), [group.label for group in groups if group not in timed]
    found = [_curve(timed, quantity, axis) for quantity in LEARNING]
    missing = MissingPlot(titled("Curves over time", *untimed), "These runs have no timing.csv.")
    return [*found, missing] if untimed else found


def optimiser_curves(groups: Sequence[Group]) -> list[Plot | MissingPlot]:
    """Multipliers, shares, signals, KL, shields and CVaR over epochs, as far as the groups have them."""
    axis = _Axis("epochs", "epoch", lambda group, curves: (np.arange(curves.shape[1]), curves))
    found: list[Plot | MissingPlot] = []
    for quantity in OPTIMISER:
        for constraint, having in by_constraint(groups).items() if quantity.per_constraint else [("", groups)]:
            known = [group for group in having if _applies(group, quantity, constraint)]
            found += [_curve(known, quantity, axis, constraint)] if known else []
    return found


@dataclass(frozen=True)
class _Axis:
    name: str
    label: str
    place: Callable[[Group, np.ndarray], tuple[np.ndarray, np.ndarray]]
    """A group's curves [seed, epoch] → the points of the axis, and the curves there."""


def _over_steps(groups: Sequence[Group]) -> _Axis:
    most = max(float(group.steps[-1]) for group in groups)
    unit, word = (1e6, "million steps") if most >= 1e6 else (1e3, "thousand steps") if most >= 1e4 else (1.0, "steps")
    return _Axis("steps", word, lambda group, curves: (group.steps / unit, curves))


def _over_time(groups: Sequence[Group]) -> _Axis:
    longest = max(float(np.nanmax(run.timing["WallClock"])) for group in groups for run in group.runs)
    unit, word = (3600.0, "hours") if longest >= 7200 else (60.0, "minutes") if longest >= 120 else (1.0, "seconds")

    def place(group: Group, curves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        clocks = [run.timing["WallClock"][: run.epochs] / unit for run in group.runs]
        if len(clocks) == 1:
            return clocks[0], curves[:, : len(clocks[0])]
        # Seeds take different times, so their curves are interpolated on one grid.
        grid = np.linspace(min(clock[0] for clock in clocks), max(clock[-1] for clock in clocks), _GRID)
        pairs = [(clock, curve[: len(clock)]) for clock, curve in zip(clocks, curves, strict=True)]
        return grid, np.stack([np.interp(grid, *pair, left=np.nan, right=np.nan) for pair in pairs])

    return _Axis("clock", f"{word} of training", place)


def _curve(groups: Sequence[Group], quantity: Quantity, axis: _Axis, constraint: str = "") -> Plot | MissingPlot:
    title = titled(quantity.title, constraint)
    having = {group: found for group in groups if (found := quantity.of(group, constraint)) is not None}
    if not having:
        return MissingPlot(title, f"metrics.csv has no column {quantity.column}: an older version wrote it.")
    figure, axes = style.panel(title, axis.label, quantity.y)
    scale = 100.0 if quantity.share else 1.0
    lines = tuple(
        _draw(axes, group, found * scale, quantity, axis, raw=len(having) <= _RAW_UP_TO)
        for group, found in having.items()
    )
    references = {quantity.reference(group, constraint) for group in having}
    reference = references.pop() if len(references) == 1 else None
    if reference is not None:
        reference = (reference[0] * scale, reference[1])
        style.limit_line(axes, *reference)
    logarithmic = quantity.logarithmic and _far_apart(axes)
    if logarithmic:
        axes.set_yscale("log")
        style.plain_numbers(axes.yaxis)
    elif quantity.from_zero:
        style.from_zero(axes)
    if quantity.share:
        axes.yaxis.set_major_formatter("{x:g} %")
    style.finish(axes)
    widths = {_width(found, quantity) for found in having.values()}
    name = "-".join(filter(None, (quantity.column.lower(), axis.name, file_name(constraint))))
    caption = _caption(quantity, list(having), widths) + (" The scale is logarithmic." if logarithmic else "")
    shown = Chart(axis.label, quantity.y, lines, reference, quantity.share, logarithmic, quantity.from_zero)
    return Plot(name, titled(f"{quantity.title} over {axis.label}", constraint), caption, figure, shown)


def _draw(axes: Axes, group: Group, found: np.ndarray, quantity: Quantity, axis: _Axis, *, raw: bool) -> Line:
    width = _width(found, quantity) if quantity.smooth else 1
    x, smooth = axis.place(group, np.stack([seeds.smooth(curve, width) for curve in found]))
    single = axis.place(group, found)[1]
    if quantity.sparse:
        known = np.isfinite(single).any(axis=0)
        x, smooth, single = x[known], smooth[:, known], single[:, known]
    hue, line = style.colour(group.index), style.dashes(group.index)
    dot = "o" if len(x) == 1 else ""  # A line needs two epochs.
    if len(found) == 1:
        if raw and width > 1:
            axes.plot(x, single[0], color=hue, linewidth=0.7, alpha=0.35)
        axes.plot(x, smooth[0], color=hue, linestyle=line, marker=dot, label=style.label(group.label))
        return Line(group.label, group.index, x, smooth[0])
    band = seeds.band_of(smooth, more_is_better=quantity.more_is_better)
    axes.fill_between(x, band.low, band.high, color=hue, alpha=0.16, linewidth=0)
    axes.plot(x, band.worst, color=hue, linewidth=0.7, alpha=0.8)
    axes.plot(x, band.middle, color=hue, linestyle=line, marker=dot, label=style.label(group.label))
    return Line(group.label, group.index, x, band.middle, band.low, band.high, band.worst)


def _caption(quantity: Quantity, groups: Sequence[Group], widths: set[int]) -> str:
    parts = [f"{quantity.meaning}."]
    if quantity.smooth and max(widths) > 1:
        span = " to ".join(map(str, sorted({min(widths), max(widths)})))
        # The chart that the page draws from numbers has no such line.
        pale = "; in the SVG and the PNG, a pale line shows single epochs" if len(groups) <= _RAW_UP_TO else ""
        parts.append(f"The line is a running mean over {span} epochs{pale}.")
    counts = sorted({len(group.runs) for group in groups})
    return " ".join(parts + [seeds.caption(count) for count in counts if counts != [1]])


def _far_apart(axes: Axes) -> bool:
    """Whether all values are positive, and so far apart that small ones would look the same."""
    values = np.concatenate([np.asarray(line.get_ydata(), float) for line in axes.get_lines()])
    values = values[np.isfinite(values)]
    return bool(len(values) and values.min() > 0 and values.max() > _LOGARITHMIC * np.median(values))


def _width(found: np.ndarray, quantity: Quantity) -> int:
    """The width of the running mean: a twentieth of the run."""
    return max(1, found.shape[1] // (4 if quantity.sparse else 20))


def _applies(group: Group, quantity: Quantity, constraint: str) -> bool:
    """Whether the group has the column. Older runs log a share of the constraints even if they have none."""
    inert = quantity.column == "AskShare" and group.first.description.mechanism != "constraint"
    return not inert and quantity.of(group, constraint) is not None
