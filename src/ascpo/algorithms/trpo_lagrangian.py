"""TRPO-Lagrangian: costs are paid for, at a price that rises while the limit is broken (arXiv:1910.01708)."""

from dataclasses import dataclass

from ascpo.algorithms.algorithm import EPISODE_COST, Algorithm
from ascpo.networks.multiplier import Scalar
from ascpo.surrogates.penalty import Penalty, episode_cost, lagrangian


@dataclass(frozen=True)
class TRPOLagrangian:
    """Settings of TRPO-Lagrangian."""

    multiplier_rate: float = 1.0
    """By how much the multiplier rises an epoch, for each unit that the mean cost of an episode is over its
    limit. The released code's 0.005 leaves it too small to matter within millions of steps."""
    strength: float = 0.5
    """ρ: what the multiplier is multiplied with in the objective."""

    def build(self, probability: float) -> Algorithm:
        return Algorithm(
            name="trpo-lagrangian",
            words="pays for the mean cost of an episode, at a price that rises while it is over the limit",
            quantity="the mean cost of an episode",
            cost_critics=EPISODE_COST,
            penalty=Penalty(lagrangian(self.strength), Scalar(self.multiplier_rate), episode_cost),
        )
