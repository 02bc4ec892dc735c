"""All figures of a report, section by section."""

from collections.abc import Sequence
from dataclasses import dataclass

from ascpo.report.curves import clock_curves, learning_curves, optimiser_curves
from ascpo.report.episodes import episode_figures
from ascpo.report.groups import Group
from ascpo.report.maxima import fans, foretellings
from ascpo.report.style import Drawn, Missing, look


@dataclass(frozen=True)
class Section:
    """Figures that belong together."""

    anchor: str
    title: str
    lead: str
    figures: tuple[Drawn | Missing, ...]


def draw(groups: Sequence[Group]) -> list[Section]:
    """What the groups have to show. What cannot be drawn says why."""
    with look():
        return [
            Section(
                "learning",
                "Learning",
                "Measured on the episodes of the training itself, which the policy of that moment played.",
                tuple(learning_curves(groups)),
            ),
            Section(
                "clock",
                "Over time",
                "The same curves over the seconds of work that they took, breaks left out.",
                tuple(clock_curves(groups)),
            ),
            Section(
                "largest",
                "Largest cost of an episode",
                "A mean says little about the worst state. Here is how the largest cost of an episode was spread, and "
                "what bounds made of its mean and variance said about the epoch that followed.",
                (*fans(groups), *foretellings(groups)),
            ),
            Section(
                "fresh",
                "Fresh episodes",
                "The last policy on episodes that no training has seen.",
                tuple(episode_figures(groups)),
            ),
            Section(
                "optimiser",
                "The optimiser",
                "What each step paid, asked for and moved.",
                tuple(optimiser_curves(groups)),
            ),
        ]
