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


def draw(groups: Sequence[Group]) -> list[Section]:
    """The plots of the groups. A plot that cannot be drawn says why."""
    with look():
        return [
            Section(
                "learning",
                "Learning",
                "The episodes of the training itself measure these curves. The policy changes from epoch to epoch.",
                tuple(learning_curves(groups)),
            ),
            Section(
                "clock",
                "Over time",
                "The same curves over the seconds of training, without interruptions.",
                tuple(clock_curves(groups)),
            ),
            Section(
                "largest",
                "Largest cost of an episode",
                "The mean says little about the worst state. These plots show the distribution of the largest cost of "
                "an episode, and compare bounds from its mean and variance with the next epoch.",
                (*quantile_plots(groups), *bound_plots(groups)),
            ),
            Section(
                "fresh",
                "Fresh episodes",
                "The last policy plays episodes that no training uses.",
                tuple(episode_plots(groups)),
            ),
            Section(
                "optimiser",
                "The optimiser",
                "The multipliers of each step, its share of the trust region, and its size.",
                tuple(optimiser_curves(groups)),
            ),
        ]
