"""PPO-Lagrangian: a clipped objective with a penalty for costs, whose multiplier rises while the limit is violated."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ascpo.algorithms.outline import Outline
from ascpo.algorithms.ppo_settings import PPOSettings
from ascpo.ranges import NonNegative

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm


@dataclass(frozen=True)
class PPOLagrangian:
    """Settings of PPO-Lagrangian."""

    multiplier_rate: NonNegative = 1.0
    """Rise of the multiplier in an epoch, for each unit that the mean cost of an episode is over its limit."""
    rescaled: bool = True
    """Divide the whole loss by 1 + λ, so that steps do not grow with the multiplier."""
    ppo: PPOSettings = field(default_factory=PPOSettings)
    """The clipped objective, and its optimisation."""

    def outline(self, probability: float) -> Outline:
        description = "penalises the mean cost of an episode, with a multiplier that rises over the limit; clipped"
        parts = ("penalty", "linear", "clipped")
        return Outline("ppo-lagrangian", description, "episode", "the mean cost of an episode", *parts)

    def build(self, probability: float) -> "Algorithm":
        from ascpo.algorithms.algorithm import EPISODE_COST, Algorithm
        from ascpo.networks.multiplier import ScalarMultiplier
        from ascpo.surrogates.penalty import EpisodeCost, Lagrangian, Penalty

        multiplier = ScalarMultiplier(self.multiplier_rate)
        return Algorithm(
            *self.outline(probability).words,
            cost_critics=EPISODE_COST,
            penalty=Penalty(Lagrangian(), multiplier, EpisodeCost(), rescaled=self.rescaled),
            step=self.ppo.descent,
            clip=self.ppo.ratio_clip(),
        )
