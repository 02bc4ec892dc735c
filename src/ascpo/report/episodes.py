"""Plots of fresh episodes: their costs and their largest costs."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ascpo.report.data import ACTIONS, RunData
from ascpo.report.groups import Group, by_constraint, file_name
from ascpo.report.style import INK, LIMIT, QUIET, MissingPlot, Plot, colour, label, legend, panel, plain_numbers
from ascpo.report.wording import command, train_again

_BINS = 40


def episode_plots(groups: Sequence[Group]) -> list[Plot | MissingPlot]:
    """Box plots of the cost of an episode and histograms of its largest cost, for sampled and for mean actions."""
    found: list[Plot | MissingPlot] = []
    order = {group.slug: index for index, group in enumerate(groups)}
    for actions in ACTIONS:
        for constraint, having in by_constraint(groups).items():
            columns = {group: of_episodes(group, actions, "EpCost", constraint) for group in having}
            costs = {group: column for group, column in columns.items() if len(column)}
            if costs:
                found.append(_boxes(costs, order, actions, constraint))
            found += _histograms(having, order, actions, constraint)
    runs = [run for group in groups for run in group.runs]
    missing = [run for run in runs if "sampled" not in run.episodes]
    return [*found, _missing(missing, every=len(missing) == len(runs))] if missing else found


def _missing(runs: Sequence[RunData], *, every: bool) -> MissingPlot:
    title = "Fresh episodes" if every else f"Fresh episodes: {', '.join(run.name for run in runs)}"
    reason = "There is no episodes-sampled.csv, because no evaluation with sampled actions has written it."
    first = next((run for run in runs if run.has_policy), None)
    if first is not None:
        return MissingPlot(title, reason, command("evaluate", first))
    return MissingPlot(title, f"{reason} There is no policy either, so train it again.", train_again(runs[0]))


def of_episodes(group: Group, actions: str, column: str, constraint: str = "") -> np.ndarray:
    """A column of the episodes of all seeds; empty unless every run has it."""
    parts = []
    for run in group.runs:
        name = column + (run.suffix(constraint) if constraint else "")
        part = run.episodes.get(actions, {}).get(name)
        if part is None:
            return np.array([])
        parts.append(part)
    return np.concatenate(parts)


def _boxes(costs: dict[Group, np.ndarray], order: dict[str, int], actions: str, constraint: str) -> Plot:
    title = "Cost of a fresh episode" + (f": {constraint}" if constraint else "") + _in_brackets(actions)
    rows, longest = len(costs), max(len(group.label) for group in costs)
    figure, axes = panel(title, "cost of an episode", "", height=1.2 + 0.36 * rows, left=0.3 + 0.072 * longest)
    places = np.arange(rows, 0, -1)
    boxes = axes.boxplot(
        list(costs.values()),
        positions=places,
        orientation="horizontal",
        whis=(0, 100),
        widths=0.5,
        patch_artist=True,
        manage_ticks=False,
        medianprops={"color": INK, "linewidth": 1.6},
        whiskerprops={"color": QUIET},
        capprops={"color": QUIET},
    )
    for group, box in zip(costs, boxes["boxes"], strict=True):
        box.set(facecolor=colour(order[group.slug]), alpha=0.55, edgecolor=colour(order[group.slug]))
    means = [float(np.mean(values)) for values in costs.values()]
    axes.scatter(means, places + 0.4, marker="v", s=30, color=INK, zorder=3)
    axes.set_yticks(places, [label(group.label) for group in costs], color=INK)
    axes.set_ylim(0.4, rows + 0.75)
    axes.grid(visible=False, axis="y")
    _scale_costs(axes, np.concatenate(list(costs.values())))
    meaning = "The box is the middle half of the episodes, its line the median, the arrow the mean. The whiskers reach "
    meaning += "from the smallest to the largest cost."
    name = "-".join(filter(None, ("cost", actions, file_name(constraint))))
    return Plot(name, title, f"{meaning} {_count(list(costs.values()))}", figure)


def _histograms(groups: Sequence[Group], order: dict[str, int], actions: str, constraint: str) -> list[Plot]:
    maxima = {group: found for group in groups if len(found := of_episodes(group, actions, "EpMaxCost", constraint))}
    if not maxima:
        return []
    most = max(float(values.max()) for values in maxima.values())
    edges = np.linspace(0.0, most if most > 0 else 1.0, _BINS + 1)
    alone = len(order) == 1
    out = []
    for group, values in maxima.items():
        parts = [] if alone else [group.label]
        parts += [constraint] if constraint else []
        title = "Largest cost of a fresh episode" + (f": {', '.join(parts)}" if parts else "") + _in_brackets(actions)
        figure, axes = panel(title, "largest cost of an episode", "episodes")
        axes.hist(values, bins=list(edges), color=colour(order[group.slug]), alpha=0.75, log=True)
        limit = group.limit(constraint)
        axes.axvline(limit, color=LIMIT, linewidth=1.2, linestyle=(0, (4, 2)), label="limit")
        axes.set_ylim(bottom=0.7)
        plain_numbers(axes.yaxis)
        axes.margins(x=0.01)
        legend(axes)
        over = int(np.sum(values > limit))
        name = "-".join(filter(None, ("largest", actions, "" if alone else group.slug, file_name(constraint))))
        caption = (
            f"{over} of {len(values)} episodes violate the limit of {limit:g} ({100 * over / len(values):.2g} %). "
            f"The largest cost of all is {values.max():.3g}. The vertical scale is logarithmic."
        )
        out.append(Plot(name, title, caption, figure))
    return out


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


def _count(parts: Sequence[np.ndarray]) -> str:
    counts = [len(part) for part in parts]
    least, most = min(counts), max(counts)
    return f"Each box has {least} episodes." if least == most else f"A box has {least} to {most} episodes."
