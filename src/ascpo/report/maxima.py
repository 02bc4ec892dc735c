"""The largest cost of an episode over the training: its quantiles, and what a bound said of them beforehand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ascpo.report.data import QUANTILES, Run
from ascpo.report.groups import Group, file_name, slots
from ascpo.report.seeds import smooth
from ascpo.report.style import INK, LIMIT, QUIET, Drawn, Missing, colour, from_zero, legend, panel
from ascpo.report.wording import anew
from ascpo.theory.cantelli import confidence_of_variance, kappa_for

_NO_QUANTILES = (
    f"metrics.csv lacks the quantiles EpMaxCost{QUANTILES[0]} to EpMaxCost{QUANTILES[-1]}: the run is older than these "
    f"columns. A run with the same settings, trained again, has them."
)

_ONE_EPOCH = "It takes two epochs: one to make a bound from, and one to try it on."


@dataclass(frozen=True)
class Foretold:
    """Bounds of an episode's largest cost from epoch t, and the quantile that epoch t + 1 measured, for every t."""

    level: float
    """Of the quantile: the promised probability, or the highest that was measured."""
    cantelli: np.ndarray
    """E + κ√V with κ = √(p/(1 − p)): holds with probability p for whatever law has this mean and variance."""
    paper: np.ndarray
    """ℬ_k = E + k·V."""
    measured: np.ndarray
    sureness: float
    """With which probability ℬ_k promised to hold: the median over epochs."""

    def held(self, bound: np.ndarray) -> tuple[int, int]:
        """In how many epochs the next one kept it, and of how many."""
        known = np.isfinite(bound) & np.isfinite(self.measured)
        # The log has six digits, and what it rounded is not a broken bound.
        return int(np.sum((self.measured <= bound * (1 + 1e-5) + 1e-12)[known])), int(known.sum())


def foretold(run: Run, constraint: str) -> Foretold | None:
    """None where the log lacks what it takes."""
    mean, deviation = run.column("EpMaxCost", constraint), run.column("StdMaxCost", constraint)
    quantiles = run.quantiles(constraint)
    if mean is None or deviation is None or quantiles is None or run.epochs < 2:
        return None
    worst = run.column("WorstCost") if len(run.constraints) == 1 else None
    if worst is not None:
        quantiles = quantiles | {1.0: worst}
    level = min(max(run.probability, min(quantiles)), max(quantiles))
    variance = deviation[:-1] ** 2
    return Foretold(
        level=level,
        cantelli=mean[:-1] + kappa_for(run.probability) * deviation[:-1],
        paper=mean[:-1] + run.k * variance,
        measured=quantile_at(level, quantiles)[1:],
        sureness=float(np.median([confidence_of_variance(float(v), run.k) for v in variance if np.isfinite(v)])),
    )


def quantile_at(level: float, quantiles: dict[float, np.ndarray]) -> np.ndarray:
    """Between two quantiles that are known, on the line between them. In a tail that is more than the truth."""
    above = min(known for known in quantiles if known >= level)
    below = max(known for known in quantiles if known <= level)
    part = 0.0 if above == below else (level - below) / (above - below)
    return (1.0 - part) * quantiles[below] + part * quantiles[above]


def fans(groups: Sequence[Group]) -> list[Drawn | Missing]:
    """For each group and constraint, how the largest cost of an episode is spread."""
    return _of_each(groups, "Quantiles of the largest cost", _fan)


def foretellings(groups: Sequence[Group]) -> list[Drawn | Missing]:
    """For each group and constraint, bounds against what came."""
    return _of_each(groups, "Bounds against what came", _foretelling)


def _of_each(
    groups: Sequence[Group], title: str, draw: Callable[[Group, str, int, bool], Drawn | None]
) -> list[Drawn | Missing]:
    found: list[Drawn | Missing] = []
    silent: list[Group] = []
    order = {group.slug: index for index, group in enumerate(groups)}
    for constraint, having in slots(groups).items():
        for group in having:
            name = constraint or group.constraints[0]
            drawn = draw(group, name, order[group.slug], len(groups) == 1)
            if drawn is None:
                silent += [group] if group not in silent else []
            else:
                found.append(drawn)
    if silent:
        whose = "" if len(silent) == len(groups) else f": {', '.join(group.label for group in silent)}"
        short = all(run.quantiles(run.constraints[0]) is not None for run in silent[0].runs)
        reason = _ONE_EPOCH if short else _NO_QUANTILES
        found.append(Missing(f"{title}{whose}", reason, "" if short else anew(silent[0].first)))
    return found


def _titled(what: str, group: Group, constraint: str, alone: bool) -> str:
    parts = [] if alone else [group.label]
    parts += [constraint] if len(group.constraints) > 1 else []
    return ": ".join([what, ", ".join(parts)]) if parts else what


def _named(what: str, group: Group, constraint: str, alone: bool) -> str:
    return "-".join(
        [what, *([] if alone else [group.slug]), *([file_name(constraint)] if len(group.constraints) > 1 else [])]
    )


def _fan(group: Group, constraint: str, index: int, alone: bool) -> Drawn | None:
    known = [run.quantiles(constraint) for run in group.runs]
    if any(found is None for found in known):
        return None
    levels = [q / 100 for q in QUANTILES]
    raw = [_mean(group, f"EpMaxCost{q}", constraint) for q in QUANTILES]
    epochs, width = np.arange(len(raw[0])), max(1, len(raw[0]) // 20)
    curves = {level: smooth(curve, width) for level, curve in zip(levels, raw, strict=True)}
    title = _titled("Quantiles of the largest cost", group, constraint, alone)
    figure, axes = panel(title, "epoch", "")
    hue = colour(index)
    for low, high, alpha in zip(levels, levels[1:], (0.5, 0.36, 0.24, 0.14), strict=False):
        name = f"{low:.0%} to {high:.0%}".replace("%", " %")
        axes.fill_between(epochs, curves[low], curves[high], color=hue, alpha=alpha, linewidth=0, label=name)
    axes.plot(epochs, curves[0.5], color=hue, linewidth=1.8, label="median")
    worst = group.columns("WorstCost") if len(group.constraints) == 1 else None
    if worst is not None:
        axes.plot(epochs, np.nanmax(worst, axis=0), color=QUIET, linewidth=0.8, linestyle=":", label="worst")
    axes.axhline(group.limit(constraint), color=LIMIT, linewidth=1.0, linestyle=(0, (4, 2)), label="limit")
    from_zero(axes)
    axes.margins(x=0.01)
    legend(axes)
    seeds = "" if len(group.runs) == 1 else f" Means over {len(group.runs)} seeds."
    mean = f", as a running mean over {width} epochs" if width > 1 else ""
    dots = "" if worst is None else "; worst: of any state, finished or not"
    caption = f"Of the episodes that finished in an epoch{mean}{dots}.{seeds}"
    return Drawn(_named("fan", group, constraint, alone), title, caption, figure)


def _foretelling(group: Group, constraint: str, index: int, alone: bool) -> Drawn | None:
    told = [found for run in group.runs if (found := foretold(run, constraint)) is not None]
    if len(told) < len(group.runs):
        return None
    title = _titled("Bounds against what came", group, constraint, alone)
    figure, axes = panel(title, "epoch", "")
    longest = max(len(one.measured) for one in told)
    epochs = np.arange(1, longest + 1)
    k, p = group.first.k, group.first.probability
    axes.plot(epochs, _padded([one.cantelli for one in told]), color=colour(index), label=f"E + κ√V, promised {p:.4g}")
    axes.plot(
        epochs, _padded([one.paper for one in told]), color=colour(index), linestyle=(0, (4, 1.5)), label=f"E + {k:g}·V"
    )
    axes.plot(
        epochs,
        _padded([one.measured for one in told]),
        color=INK,
        linewidth=1.1,
        label=f"measured {told[0].level:.4g} quantile",
    )
    axes.axhline(group.limit(constraint), color=LIMIT, linewidth=1.0, linestyle=(0, (4, 2)), label="limit")
    from_zero(axes)
    axes.margins(x=0.01)
    legend(axes, columns=2)
    return Drawn(_named("bounds", group, constraint, alone), title, _told(told, k), figure)


def _told(told: Sequence[Foretold], k: float) -> str:
    cantelli = np.sum([one.held(one.cantelli) for one in told], axis=0)
    paper = np.sum([one.held(one.paper) for one in told], axis=0)
    sure = float(np.median([one.sureness for one in told]))
    seeds = "" if len(told) == 1 else f" Curves are means over {len(told)} seeds, counts are of all."
    return (
        f"Bounds from one epoch's mean E and variance V, against the quantile that the next epoch measured. "
        f"Cantelli's held in {cantelli[0]} of {cantelli[1]} epochs. The paper's E + {k:g}·V held in {paper[0]} of "
        f"{paper[1]}: with such variances it promises {100 * sure:.2g} % (median).{seeds}"
    )


def _mean(group: Group, name: str, constraint: str) -> np.ndarray:
    found = group.columns(name, constraint)
    assert found is not None  # The caller has looked.
    return _padded(list(found))


def _padded(curves: Sequence[np.ndarray]) -> np.ndarray:
    """Their mean, of those that have not ended."""
    out = np.full((len(curves), max(map(len, curves))), np.nan)
    for row, curve in zip(out, curves, strict=True):
        row[: len(curve)] = curve
    count = np.isfinite(out).sum(axis=0)
    return np.where(count > 0, np.nansum(out, axis=0) / np.maximum(count, 1), np.nan)
