"""Fresh episodes, one by one: what each cost, and its largest cost."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ascpo.report.data import WAYS, Run
from ascpo.report.groups import Group, file_name, slots
from ascpo.report.style import INK, LIMIT, QUIET, Drawn, Missing, colour, label, legend, panel, plain_numbers
from ascpo.report.wording import anew, command

_BINS = 40


def episode_figures(groups: Sequence[Group]) -> list[Drawn | Missing]:
    """Box plots of the cost of an episode, and histograms of its largest cost, for each way of acting."""
    found: list[Drawn | Missing] = []
    order = {group.slug: index for index, group in enumerate(groups)}
    for way in WAYS:
        for constraint, having in slots(groups).items():
            costs = {group: drawn for group in having if len(drawn := of_episodes(group, way, "EpCost", constraint))}
            if costs:
                found.append(_boxes(costs, order, way, constraint))
            found += _histograms(having, order, way, constraint)
    silent = [run for group in groups for run in group.runs if "sampled" not in run.episodes]
    return (
        [*found, _unplayed(silent, everyone=len(silent) == sum(len(group.runs) for group in groups))]
        if silent
        else found
    )


def _unplayed(runs: Sequence[Run], *, everyone: bool) -> Missing:
    title = "Fresh episodes" if everyone else f"Fresh episodes: {', '.join(run.name for run in runs)}"
    reason = "There is no episodes-sampled.csv: the policy was not judged on fresh episodes yet, or not lately."
    first = next((run for run in runs if run.policy), None)
    if first is not None:
        return Missing(title, reason, command("evaluate", first))
    return Missing(title, f"{reason} Nor is a policy kept, so it would have to be trained again.", anew(runs[0]))


def of_episodes(group: Group, way: str, column: str, constraint: str = "") -> np.ndarray:
    """A column of the episodes of all seeds together; empty unless every run has them."""
    parts = []
    for run in group.runs:
        name = column + (run.tail(constraint) if constraint else "")
        part = run.episodes.get(way, {}).get(name)
        if part is None:
            return np.array([])
        parts.append(part)
    return np.concatenate(parts)


def _boxes(costs: dict[Group, np.ndarray], order: dict[str, int], way: str, constraint: str) -> Drawn:
    title = "Cost of a fresh episode" + (f": {constraint}" if constraint else "") + _suffix(way)
    rows, longest = len(costs), max(len(group.label) for group in costs)
    figure, axes = panel(title, "cost of an episode", "", height=1.2 + 0.36 * rows, left=0.3 + 0.072 * longest)
    places = np.arange(rows, 0, -1)
    drawn = axes.boxplot(
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
    for group, box in zip(costs, drawn["boxes"], strict=True):
        box.set(facecolor=colour(order[group.slug]), alpha=0.55, edgecolor=colour(order[group.slug]))
    means = [float(np.mean(values)) for values in costs.values()]
    axes.scatter(means, places + 0.4, marker="v", s=30, color=INK, zorder=3)
    axes.set_yticks(places, [label(group.label) for group in costs], color=INK)
    axes.set_ylim(0.4, rows + 0.75)
    axes.grid(visible=False, axis="y")
    _far(axes, np.concatenate(list(costs.values())))
    told = "Box: the middle half of the episodes; line: median; whiskers: least and most; arrow: mean."
    name = "-".join(filter(None, ("cost", way, file_name(constraint))))
    return Drawn(name, title, f"{told} {_count(list(costs.values()))}", figure)


def _histograms(groups: Sequence[Group], order: dict[str, int], way: str, constraint: str) -> list[Drawn]:
    maxima = {group: found for group in groups if len(found := of_episodes(group, way, "EpMaxCost", constraint))}
    if not maxima:
        return []
    most = max(float(values.max()) for values in maxima.values())
    edges = np.linspace(0.0, most if most > 0 else 1.0, _BINS + 1)
    alone = len(order) == 1
    out = []
    for group, values in maxima.items():
        parts = [] if alone else [group.label]
        parts += [constraint] if constraint else []
        title = "Largest cost of a fresh episode" + (f": {', '.join(parts)}" if parts else "") + _suffix(way)
        figure, axes = panel(title, "largest cost of an episode", "episodes")
        axes.hist(values, bins=list(edges), color=colour(order[group.slug]), alpha=0.75, log=True)
        limit = group.limit(constraint)
        axes.axvline(limit, color=LIMIT, linewidth=1.2, linestyle=(0, (4, 2)), label="limit")
        axes.set_ylim(bottom=0.7)
        plain_numbers(axes.yaxis)
        axes.margins(x=0.01)
        legend(axes)
        over = int(np.sum(values > limit))
        name = "-".join(filter(None, ("largest", way, "" if alone else group.slug, file_name(constraint))))
        caption = (
            f"{over} of {len(values)} episodes went over the limit of {limit:g} ({100 * over / len(values):.2g} %); "
            f"the worst reached {values.max():.3g}. The count is on a logarithmic scale."
        )
        out.append(Drawn(name, title, caption, figure))
    return out


def _far(axes: Axes, values: np.ndarray) -> None:
    """Costs are mostly zero, with a long tail: linear near zero, logarithmic beyond what most episodes cost."""
    positive = values[values > 0]
    most = float(values.max()) if len(values) else 0.0
    if len(positive) and most > 20 * float(np.median(positive)):
        axes.set_xscale("symlog", linthresh=float(np.median(positive)))
        plain_numbers(axes.xaxis)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.set_xlim(left=-0.02 * most if most else -0.1)


def _suffix(way: str) -> str:
    return "" if way == "sampled" else f" ({WAYS[way]})"


def _count(parts: Sequence[np.ndarray]) -> str:
    counts = sorted({len(part) for part in parts})
    return f"{' to '.join(map(str, {counts[0]: 0, counts[-1]: 0}))} episodes each."
