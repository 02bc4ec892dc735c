"""The largest cost of an episode over the training: its quantiles, and bounds on them from the epoch before."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ascpo.report.data import RunData
from ascpo.report.groups import Group, by_constraint, file_name
from ascpo.report.seeds import smooth, stacked
from ascpo.report.style import (
    INK,
    QUIET,
    MissingPlot,
    Plot,
    colour,
    finish,
    from_zero,
    limit_line,
    panel,
    same_scale,
    titled,
)
from ascpo.report.wording import percent, train_again
from ascpo.theory.cantelli import confidence_of_variance, kappa_for

_NO_QUANTILES = (
    "metrics.csv has no quantiles of the largest cost (EpMaxCost50 and so on), because an older version wrote it. A "
    "new run with the same settings has them."
)
_ONE_EPOCH = "The plot needs two epochs: a bound comes from one epoch and is checked in the next."
_OPACITIES = (0.5, 0.36, 0.24, 0.14)
"""Opacity of the bands between neighbouring quantiles, which fade towards the highest."""


@dataclass(frozen=True)
class BoundCheck:
    """Bounds on an episode's largest cost from epoch t, and the quantile that epoch t + 1 measured, for every t."""

    level: float
    """The level of the quantile: the target probability, or the nearest that the log has."""
    cantelli: np.ndarray
    """E + κ√V with κ = √(p/(1 − p)): holds with probability p for every distribution with this mean and variance."""
    paper: np.ndarray
    """ℬ_k = E + k·V."""
    measured: np.ndarray
    confidence: float
    """The probability with which ℬ_k holds by Cantelli's inequality: the median over the epochs."""

    def held(self, bound: np.ndarray) -> tuple[int, int]:
        """The number of epochs in which the bound held, and the number of all epochs."""
        known = np.isfinite(bound) & np.isfinite(self.measured)
        # The log has six digits, so a violation by rounding does not count.
        return int(np.sum((self.measured <= bound * (1 + 1e-5) + 1e-12)[known])), int(known.sum())


def check_bounds(run: RunData, constraint: str) -> BoundCheck | None:
    """None if the log lacks a column or a second epoch."""
    mean, deviation = run.column("EpMaxCost", constraint), run.column("StdMaxCost", constraint)
    quantiles = run.quantiles(constraint)
    if mean is None or deviation is None or quantiles is None or run.epochs < 2:
        return None
    worst = run.column("WorstCost") if len(run.constraints) == 1 else None
    quantiles |= {} if worst is None else {1.0: worst}
    level = min(max(run.probability, min(quantiles)), max(quantiles))
    variance = deviation[:-1] ** 2
    return BoundCheck(
        level=level,
        cantelli=mean[:-1] + kappa_for(run.probability) * deviation[:-1],
        paper=mean[:-1] + run.k * variance,
        measured=quantile_at(level, quantiles)[1:],
        confidence=float(np.median([confidence_of_variance(float(v), run.k) for v in variance if np.isfinite(v)])),
    )


def quantile_at(level: float, quantiles: dict[float, np.ndarray]) -> np.ndarray:
    """Linear interpolation between two known quantiles. In the tail it overestimates."""
    above = min(known for known in quantiles if known >= level)
    below = max(known for known in quantiles if known <= level)
    part = 0.0 if above == below else (level - below) / (above - below)
    return (1.0 - part) * quantiles[below] + part * quantiles[above]


def quantile_plots(groups: Sequence[Group]) -> list[Plot | MissingPlot]:
    """The distribution of the largest cost of an episode, for each group and constraint."""
    return _plots(groups, "Quantiles of the largest cost", _quantile_plot)


def bound_plots(groups: Sequence[Group]) -> list[Plot | MissingPlot]:
    """Bounds from one epoch against the next epoch, for each group and constraint."""
    return _plots(groups, "Bounds against the next epoch", _bound_plot)


def _plots(
    groups: Sequence[Group], title: str, draw: Callable[[Group, str, str], Plot | None]
) -> list[Plot | MissingPlot]:
    found: list[Plot | MissingPlot] = []
    missing: dict[Group, None] = {}
    for constraint, having in by_constraint(groups).items():
        drawn: list[Plot] = []
        for group in having:
            first, *others = group.constraints
            own = constraint if others else ""
            plot = draw(group, constraint or first, titled(title, group.distinction, own))
            if plot is None:
                missing[group] = None
            else:
                name = "-".join(filter(None, (plot.name, group.slug, file_name(own))))
                drawn.append(replace(plot, name=name))
        found += same_scale(drawn)
    if missing:
        runs = next(iter(missing)).runs
        title = title if len(missing) == len(groups) else titled(title, *(group.label for group in missing))
        short = all(run.quantiles(run.constraints[0]) is not None for run in runs)
        command = "" if short else train_again(runs[0])
        found.append(MissingPlot(title, _ONE_EPOCH if short else _NO_QUANTILES, command))
    return found


def _quantile_plot(group: Group, constraint: str, title: str) -> Plot | None:
    known = [run.quantiles(constraint) or {} for run in group.runs]
    levels = sorted(set(known[0]).intersection(*known[1:]))
    if not levels:
        return None
    raw = {level: _mean([quantiles[level] for quantiles in known]) for level in levels}
    count = len(raw[levels[0]])
    epochs, width = np.arange(count), max(1, count // 20)
    curves = {level: smooth(curve, width) for level, curve in raw.items()}
    figure, axes = panel(title, "epoch", "largest cost")
    hue = colour(group.index)
    for low, high, alpha in zip(levels, levels[1:], _OPACITIES, strict=False):
        name = f"{low:.0%} to {high:.0%}".replace("%", " %")
        axes.fill_between(epochs, curves[low], curves[high], color=hue, alpha=alpha, linewidth=0, label=name)
    lowest = "median" if levels[0] == 0.5 else f"{levels[0]:.0%}"
    axes.plot(epochs, curves[levels[0]], color=hue, linewidth=1.8, label=lowest)
    worst = group.columns("WorstCost") if len(group.constraints) == 1 else None
    if worst is not None:
        axes.plot(epochs, np.nanmax(worst, axis=0), color=QUIET, linewidth=0.8, linestyle=":", label="worst state")
    limit_line(axes, group.limit_on("state", constraint))
    from_zero(axes)
    finish(axes)
    seeds = "" if len(group.runs) == 1 else f" The curves are means over {len(group.runs)} seeds."
    mean = f", as running means over {width} epochs" if width > 1 else ""
    dots = "" if worst is None else " The dotted line is the worst state of any episode, finished or not."
    caption = f"The quantiles are those of the episodes that finish in an epoch{mean}.{dots}{seeds}"
    return Plot("fan", title, caption, figure)


def _bound_plot(group: Group, constraint: str, title: str) -> Plot | None:
    checks = [found for run in group.runs if (found := check_bounds(run, constraint)) is not None]
    if len(checks) < len(group.runs):
        return None
    figure, axes = panel(title, "epoch", "largest cost")
    epochs = np.arange(1, max(len(one.measured) for one in checks) + 1)
    k, p, hue = group.first.k, group.first.probability, colour(group.index)
    cantelli, paper, measured = (
        _mean([getattr(one, name) for one in checks]) for name in ("cantelli", "paper", "measured")
    )
    axes.plot(epochs, cantelli, color=hue, label=f"E + κ√V for {p:.4g}")
    axes.plot(epochs, paper, color=hue, linestyle=(0, (4, 1.5)), label=f"E + {k:g}·V")
    axes.plot(epochs, measured, color=INK, linewidth=1.1, label=f"measured {checks[0].level:.4g} quantile")
    limit_line(axes, group.limit_on("state", constraint))
    from_zero(axes)
    finish(axes, columns=2)
    return Plot("bounds", title, _bound_caption(checks, k), figure)


def _bound_caption(checks: Sequence[BoundCheck], k: float) -> str:
    cantelli = np.sum([one.held(one.cantelli) for one in checks], axis=0)
    paper = np.sum([one.held(one.paper) for one in checks], axis=0)
    confidence = float(np.median([one.confidence for one in checks]))
    seeds = "" if len(checks) == 1 else f" The curves are means over {len(checks)} seeds; the counts include all seeds."
    return (
        f"The bounds come from the mean E and the variance V of one epoch, the quantile from the next epoch. "
        f"Cantelli's bound held in {cantelli[0]} of {cantelli[1]} epochs. The paper's bound E + {k:g}·V held in "
        f"{paper[0]} of {paper[1]} epochs; with these variances it guarantees {percent(confidence)} (median).{seeds}"
    )


def _mean(curves: Sequence[np.ndarray]) -> np.ndarray:
    """The mean of the curves that have not ended."""
    rows = stacked(curves)
    count = np.isfinite(rows).sum(axis=0)
    return np.where(count > 0, np.nansum(rows, axis=0) / np.maximum(count, 1), np.nan)
