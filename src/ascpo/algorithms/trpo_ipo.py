"""TRPO-IPO: a logarithmic barrier before the limit, and a slope beyond it (arXiv:1910.09615)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ascpo.algorithms.outline import Outline
from ascpo.ranges import NonNegative, Positive

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm


@dataclass(frozen=True)
class TRPOIPO:
    """Settings of TRPO-IPO."""

    t: Positive = 20.0
    """Steepness of the barrier. With a smaller t, the barrier acts further away from the limit."""
    slope: NonNegative = 0.1
    """Penalty for a unit of cost beyond the limit, where the barrier ends."""

    def outline(self, probability: float) -> Outline:
        words = ("trpo-ipo", "penalises the mean cost of an episode by a logarithmic barrier")
        return Outline(*words, "episode", "the mean cost of an episode", "penalty", critics="linear")

    def build(self, probability: float) -> "Algorithm":
        from ascpo.algorithms.algorithm import EPISODE_COST, Algorithm
        from ascpo.surrogates.penalty import Barrier, Penalty

        return Algorithm(
            *self.outline(probability).words,
            cost_critics=EPISODE_COST,
            penalty=Penalty(Barrier(self.t, self.slope)),
        )
