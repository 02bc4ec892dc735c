"""The plots of a report, section by section."""

from collections.abc import Sequence
from dataclasses import dataclass

from ascpo.report.curves import clock_curves, learning_curves, optimiser_curves
from ascpo.report.episodes import episode_plots
from ascpo.report.groups import Group
from ascpo.report.largest_cost import bound_plots, quantile_plots
from ascpo.report.style import MissingPlot, Plot, look


@dataclass(frozen=True)
class Section:
    """Plots under one heading."""

    anchor: str
    title: str
    lead: str
    plots: tuple[Plot | MissingPlot, ...]


_SECTIONS = (
    (
        "learning", "Learning", learning_curves,
        "The episodes of the training itself measure these curves. The policy changes from epoch to epoch.",
    ),
    ("clock", "Over time", clock_curves, "The same curves over the seconds of training, without interruptions."),
    (
        "largest", "Largest cost of an episode", lambda groups: quantile_plots(groups) + bound_plots(groups),
        "The mean says little about the worst state. These plots show the distribution of the largest cost of an "
        "episode, and compare bounds from its mean and variance with the next epoch.",
    ),
    ("fresh", "Fresh episodes", episode_plots, "The policy that is handed out plays episodes that no training uses."),
    (
        "optimiser", "The optimiser", optimiser_curves,
        "The multipliers of each step, its share of the trust region, and its size.",
    ),
)  # fmt: skip


def draw(groups: Sequence[Group]) -> list[Section]:
    """The plots of the groups. A plot that cannot be drawn says why."""
    with look():
        return [Section(anchor, title, lead, tuple(plots(groups))) for anchor, title, plots, lead in _SECTIONS]
