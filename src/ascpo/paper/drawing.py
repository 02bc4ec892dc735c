"""The paper's figures: learning curves, box plots, histograms. As PNG and as SVG."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ascpo.paper.printed import MEASURES, Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Boxes = Mapping[str, np.ndarray]
"""Name → one number for each episode."""
Curves = Mapping[str, Sequence[Mapping[str, np.ndarray]]]
"""Name → the logs of all seeds."""
_COLOURS = [f"C{i}" for i in range(10)] + ["black", "gold", "navy"]


def draw_boxes(path: Path, panels: Mapping[str, Boxes]) -> list[Path]:
    """Box plots of episode costs: quartiles, median, whiskers to the extremes, and a mark at the mean."""
    figure, axes = _figure(1, max(len(panels), 1), width=3.2, height=3.6)
    for axis, (title, boxes) in zip(axes[0], panels.items(), strict=False):
        _boxes(axis, boxes, title)
    return _save(figure, path)


def draw_curves(path: Path, rows: Mapping[str, Curves], boxes: Mapping[str, Boxes] | None = None) -> list[Path]:
    """A row for each suite: return, episode cost and cost rate over steps, as the smoothed mean and range of seeds."""
    columns = len(MEASURES) + (boxes is not None)
    figure, axes = _figure(max(len(rows), 1), columns, width=3.4, height=2.6)
    for i, (suite, curves) in enumerate(rows.items()):
        for axis, measure in zip(axes[i], MEASURES, strict=False):
            for j, (name, logs) in enumerate(curves.items()):
                _curve(axis, measure, name, logs, _COLOURS[j % len(_COLOURS)])
            # A formula, because it has a subscript.
            axis.set_title(f"{suite}: ${measure.name}$", fontsize=9)
            axis.set_ylabel(measure.description, fontsize=8)
            axis.set_xlabel("million steps", fontsize=8)
            if not measure.higher_is_better:
                axis.set_yscale("symlog", linthresh=measure.floor)
        if boxes is not None:
            _boxes(axes[i][-1], boxes.get(suite, {}), "cost after training")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=7)
    return _save(figure, path)


def draw_starts(path: Path, costs: Mapping[str, Mapping[int, np.ndarray]]) -> list[Path]:
    """Top: the largest and the mean cost from each start. Bottom: a histogram of the costs from the first start."""
    figure, axes = _figure(2, max(len(costs), 1), width=3.6, height=2.6)
    for i, (name, by_start) in enumerate(costs.items()):
        starts = sorted(by_start)
        axes[0][i].bar([s - 0.2 for s in starts], [by_start[s].max() for s in starts], 0.4, label="largest")
        axes[0][i].bar([s + 0.2 for s in starts], [by_start[s].mean() for s in starts], 0.4, label="mean")
        axes[0][i].set(title=name, xlabel="start", ylabel="cost of an episode")
        axes[0][i].legend(fontsize=7)
        axes[1][i].hist(by_start[starts[0]], bins=20)
        axes[1][i].set(xlabel=f"cost of an episode from start {starts[0]}", ylabel="episodes")
    return _save(figure, path)


def draw_bars(path: Path, panels: Mapping[str, Mapping[str, tuple[float, float]]], line: float) -> list[Path]:
    """A bar for each name with its standard deviation, and a line that bars should stay below."""
    figure, axes = _figure(1, max(len(panels), 1), width=4.5, height=3.2)
    for axis, (title, bars) in zip(axes[0], panels.items(), strict=False):
        heights = [mean for mean, _ in bars.values()]
        axis.bar(range(len(bars)), heights, yerr=[spread for _, spread in bars.values()], capsize=3)
        axis.axhline(line, color="tab:red", linestyle=":")
        axis.set_ylabel("times TRPO's", fontsize=8)
        axis.set_xticks(range(len(bars)), list(bars), rotation=45, ha="right", fontsize=7)
        axis.set_title(title, fontsize=9)
    return _save(figure, path)


def _boxes(axis: "Axes", boxes: Boxes, title: str) -> None:
    names = list(boxes)
    if names:
        axis.boxplot([boxes[name] for name in names], whis=(0, 100), showmeans=True, meanprops={"marker": ">"})
    axis.set_xticks(range(1, len(names) + 1), names, rotation=45, ha="right", fontsize=7)
    axis.set_title(title, fontsize=9)
    axis.set_ylabel("cost of an episode", fontsize=8)


def _curve(axis: "Axes", measure: Measure, name: str, logs: Sequence[Mapping[str, np.ndarray]], colour: str) -> None:
    if not logs:
        return
    # Exported logs have fewer points than those of run directories. The coarsest one decides.
    steps = min((log["TotalEnvInteracts"] for log in logs), key=len)
    seeds = np.stack([np.interp(steps, log["TotalEnvInteracts"], _smooth(log[measure.column])) for log in logs])
    axis.plot(steps / 1e6, seeds.mean(axis=0), color=colour, linewidth=1.0, label=name)
    axis.fill_between(steps / 1e6, seeds.min(axis=0), seeds.max(axis=0), color=colour, alpha=0.15, linewidth=0)


def _smooth(y: np.ndarray) -> np.ndarray:
    """A running mean over a twentieth of the run."""
    width = max(1, len(y) // 20)
    sums = np.cumsum(np.insert(y, 0, 0.0))
    first = np.maximum(np.arange(1, len(y) + 1) - width, 0)
    return (sums[1:] - sums[first]) / (np.arange(1, len(y) + 1) - first)


def _figure(rows: int, columns: int, *, width: float, height: float) -> tuple["Figure", np.ndarray]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _save(figure: "Figure", path: Path) -> list[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    written = [path.with_name(f"{path.name}.{kind}") for kind in ("png", "svg")]
    for file in written:
        figure.savefig(file, dpi=120)
    return written
