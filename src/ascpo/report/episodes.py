"""Plots of fresh episodes: their costs and their largest costs."""

from collections.abc import Sequence
from typing import get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ascpo.choices import LimitKind
from ascpo.report.data import ACTIONS, RunData
from ascpo.report.groups import Group, by_constraint, file_name
from ascpo.report.style import (
    INK,
    LIMIT,
    QUIET,
    MissingPlot,
    Plot,
    colour,
    finish,
    label,
    panel,
    plain_numbers,
    same_scale,
    titled,
)
from ascpo.report.wording import command, percent, train_again

_BINS = 40
_LIMITED: dict[LimitKind, tuple[str, str, str]] = {
    "state": ("EpMaxCost", "Largest cost", "largest"),
    "episode": ("EpCost", "Sum of the costs", "sum"),
}
"""The column of what the limits bound, its name, and that of the figure."""


def episode_plots(groups: Sequence[Group]) -> list[Plot | MissingPlot]:
    """Box plots of the cost of an episode and histograms of what is limited, for sampled and for mean actions."""
    found: list[Plot | MissingPlot] = []
    for actions in ACTIONS:
        for constraint, having in by_constraint(groups).items():
            costs = _known(having, actions, "EpCost", constraint)
            found += [_boxes(costs, actions, constraint)] if costs else []
            for kind in get_args(LimitKind):
                found += _histograms([one for one in having if one.first.limits_on == kind], kind, actions, constraint)
    runs = [run for group in groups for run in group.runs]
    missing = [run for run in runs if "sampled" not in run.episodes]
    return [*found, _missing(missing, every=len(missing) == len(runs))] if missing else found


def _missing(runs: Sequence[RunData], *, every: bool) -> MissingPlot:
    title = titled("Fresh episodes", *(run.name for run in runs if not every))
    reason = "There is no episodes-sampled.csv, because no evaluation with sampled actions has written it."
    first = next((run for run in runs if run.has_policy), None)
    if first is not None:
        return MissingPlot(title, reason, command("evaluate", first))
    return MissingPlot(title, f"{reason} There is no policy either, so train it again.", train_again(runs[0]))


def of_episodes(group: Group, actions: str, column: str, constraint: str = "") -> np.ndarray:
    """A column of the episodes of all seeds; empty unless every run has it."""
    names = [column + (run.suffix(constraint) if constraint else "") for run in group.runs]
    parts = [run.episodes.get(actions, {}).get(name) for run, name in zip(group.runs, names, strict=True)]
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else np.array([])


def _known(groups: Sequence[Group], actions: str, column: str, constraint: str) -> dict[Group, np.ndarray]:
    """A column of the episodes of each group that has it."""
    found = {group: of_episodes(group, actions, column, constraint) for group in groups}
    return {group: values for group, values in found.items() if len(values)}


def _boxes(costs: dict[Group, np.ndarray], actions: str, constraint: str) -> Plot:
    title = titled("Cost of a fresh episode", constraint) + _in_brackets(actions)
    rows, longest = len(costs), max(len(group.label) for group in costs)
    figure, axes = panel(title, "cost of an episode, $M_c$", "", height=1.2 + 0.36 * rows, left=0.3 + 0.072 * longest)
    places = np.arange(rows, 0, -1)
    boxes = axes.boxplot(
        list(costs.values()), positions=places, orientation="horizontal", whis=(0, 100), widths=0.5, patch_artist=True,
        manage_ticks=False, medianprops={"color": INK, "linewidth": 1.6}, whiskerprops={"color": QUIET},
        capprops={"color": QUIET},
    )  # fmt: skip
    for group, box in zip(costs, boxes["boxes"], strict=True):
        box.set(facecolor=colour(group.index), alpha=0.55, edgecolor=colour(group.index))
    means = [float(np.mean(values)) for values in costs.values()]
    axes.scatter(means, places + 0.4, marker="v", s=30, color=INK, zorder=3)
    axes.set_yticks(places, [label(group.label) for group in costs], color=INK)
    axes.set_ylim(0.4, rows + 0.75)
    axes.grid(visible=False, axis="y")
    _scale_costs(axes, np.concatenate(list(costs.values())))
    counts = sorted({len(values) for values in costs.values()})
    caption = (
        f"The box is the middle half of the episodes, its line the median, the arrow the mean. The whiskers reach from "
        f"the smallest to the largest cost. {'A' if counts[1:] else 'Each'} box has "
        f"{' to '.join(map(str, sorted({counts[0], counts[-1]})))} episodes."
    )
    return Plot("-".join(filter(None, ("cost", actions, file_name(constraint)))), title, caption, figure)


def _histograms(groups: Sequence[Group], kind: LimitKind, actions: str, constraint: str) -> list[Plot]:
    """What limits of this kind bound, for groups that have such limits."""
    column, quantity, short = _LIMITED[kind]
    known = _known(groups, actions, column, constraint)
    most = max((float(values.max()) for values in known.values()), default=0.0)
    edges = np.linspace(0.0, most if most > 0 else 1.0, _BINS + 1)
    out = []
    for group, values in known.items():
        title = titled(f"{quantity} of a fresh episode", group.distinction, constraint) + _in_brackets(actions)
        figure, axes = panel(title, f"{quantity.lower()} of an episode", "episodes")
        axes.hist(values, bins=list(edges), color=colour(group.index), alpha=0.75, log=True)
        limit = group.limit(constraint)
        axes.axvline(limit, color=LIMIT, linewidth=1.2, linestyle=(0, (4, 2)), label="limit")
        axes.set_ylim(bottom=0.7)
        plain_numbers(axes.yaxis)
        finish(axes)
        first = of_episodes(group, actions, "FirstViolation", constraint)
        # Tables of older versions lack that column.
        over = int(np.sum(first >= 0 if len(first) else values > limit))
        name = "-".join(filter(None, (short, actions, group.slug, file_name(constraint))))
        caption = (
            f"{over} of {len(values)} episodes violate the limit of {limit:g} ({percent(over / len(values))}). "
            f"The {quantity.lower()} of the worst is {values.max():.3g}. The vertical scale is logarithmic."
        )
        out.append(Plot(name, title, caption, figure))
    return same_scale(out)


def _scale_costs(axes: Axes, values: np.ndarray) -> None:
    """Most costs are zero and few are large, so the axis is linear up to the median and logarithmic beyond."""
    positive = values[values > 0]
    most = float(values.max()) if len(values) else 0.0
    if len(positive) and most > 20 * float(np.median(positive)):
        axes.set_xscale("symlog", linthresh=float(np.median(positive)))
        plain_numbers(axes.xaxis)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.set_xlim(left=-0.02 * most if most else -0.1)


def _in_brackets(actions: str) -> str:
    return "" if actions == "sampled" else f" ({ACTIONS[actions]})"
