"""PPO-Lagrangian: a clipped objective that pays for costs, at a price that rises while the limit is broken."""

from dataclasses import dataclass, field, replace
from typing import Literal

from ascpo.algorithms.algorithm import EPISODE_COST, Algorithm, Clipped
from ascpo.networks.multiplier import Scalar
from ascpo.surrogates.penalty import Penalty, episode_cost, lagrangian


@dataclass(frozen=True)
class PPOLagrangian:
    """Settings of PPO-Lagrangian."""

    preset: Literal["working", "reference"] = "working"
    """`reference`: a rate of 0.005, the costs' part not clipped, the loss not divided by 1 + λ."""
    multiplier_rate: float = 1.0
    """By how much the multiplier rises an epoch, for each unit that the mean cost of an episode is over its limit."""
    ppo: Clipped = field(default_factory=Clipped)
    """The clipped objective, and how the policy descends on it."""

    def build(self, probability: float) -> Algorithm:
        working = self.preset == "working"
        multiplier = Scalar(self.multiplier_rate if working else 0.005)
        return Algorithm(
            name="ppo-lagrangian",
            words="pays for the mean cost of an episode, at a price that rises while it is over the limit; clipped",
            quantity="the mean cost of an episode",
            cost_critics=EPISODE_COST,
            penalty=Penalty(lagrangian(1.0), multiplier, episode_cost, rescaled=working),
            step=self.ppo if working else replace(self.ppo, clip_costs=False),
        )
