"""Learning curves of one run, as a picture."""

from pathlib import Path

import numpy as np

from ascpo.runs.directory import find
from ascpo.runs.tables import read_table


def draw_curves(run: Path) -> Path:
    """`curves.png` in the run's directory: return, largest cost of an episode, share within the limits, cost rate."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    directory = find(run)
    log, config = read_table(directory.metrics), directory.config()
    steps = log["TotalEnvInteracts"] / 1e6
    figure, axes = pyplot.subplots(2, 2, figsize=(9, 6), sharex=True, constrained_layout=True)
    figure.suptitle(f"{config.env}, {config.algo}, seed {config.seed}")
    panels = {
        "EpRet": "mean return of an episode",
        "EpMaxCost": "mean of an episode's largest cost",
        "SafeRate": "share of episodes within all limits",
        "EpochCostRate": "cost per step",
    }
    for axis, (name, title) in zip(axes.flat, panels.items(), strict=True):
        axis.plot(steps, log[name], color="0.75", linewidth=0.8)
        axis.plot(steps, _smooth(log[name]), color="tab:blue")
        axis.set_title(title, fontsize=10)
        axis.grid(alpha=0.3)
    limits = config.settings.limits
    if len(set(limits)) == 1:
        axes[0, 1].axhline(limits[0], color="tab:red", linestyle=":", label="limit")
        axes[0, 1].legend(fontsize=8)
    axes[1, 0].axhline(config.settings.probability, color="tab:red", linestyle=":", label="promised")
    axes[1, 0].legend(fontsize=8)
    for axis in axes[1]:
        axis.set_xlabel("million steps")
    picture = directory.path / "curves.png"
    figure.savefig(picture, dpi=110)
    pyplot.close(figure)
    return picture


def _smooth(y: np.ndarray) -> np.ndarray:
    """A running mean over a twentieth of the run."""
    width = max(1, len(y) // 20)
    sums = np.cumsum(np.insert(y, 0, 0.0))
    first = np.maximum(np.arange(1, len(y) + 1) - width, 0)
    return (sums[1:] - sums[first]) / (np.arange(1, len(y) + 1) - first)
