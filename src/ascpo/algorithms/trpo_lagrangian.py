"""TRPO-Lagrangian: a penalty for costs, whose multiplier rises while the limit is violated (arXiv:1910.01708)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ascpo.algorithms.outline import Outline
from ascpo.ranges import NonNegative

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm


@dataclass(frozen=True)
class TRPOLagrangian:
    """Settings of TRPO-Lagrangian."""

    multiplier_rate: NonNegative = 1.0
    """Rise of the multiplier in an epoch, for each unit that the mean cost of an episode is over its limit. The
    released code's 0.005 leaves the multiplier too small to matter within millions of steps."""
    strength: NonNegative = 0.5
    """ρ: factor of the multiplier in the objective."""

    def outline(self, probability: float) -> Outline:
        description = "penalises the mean cost of an episode, with a multiplier that rises while it is over the limit"
        return Outline(
            "trpo-lagrangian", description, "episode", "the mean cost of an episode", "penalty", critics="linear"
        )

    def build(self, probability: float) -> "Algorithm":
        from ascpo.algorithms.algorithm import EPISODE_COST, Algorithm
        from ascpo.networks.multiplier import ScalarMultiplier
        from ascpo.surrogates.penalty import EpisodeCost, Lagrangian, Penalty

        return Algorithm(
            *self.outline(probability).words,
            cost_critics=EPISODE_COST,
            penalty=Penalty(Lagrangian(self.strength), ScalarMultiplier(self.multiplier_rate), EpisodeCost()),
        )
