"""PPO-Lagrangian: a clipped objective that pays for costs, at a price that rises while the limit is broken."""

from dataclasses import dataclass, field, replace
from typing import Literal

from ascpo.algorithms.algorithm import EPISODE_COST, FIXED_BY_PRESET, Algorithm, PPOSettings, refuse_unused
from ascpo.networks.multiplier import ScalarMultiplier
from ascpo.surrogates.penalty import EpisodeCost, Lagrangian, Penalty


@dataclass(frozen=True)
class PPOLagrangian:
    """Settings of PPO-Lagrangian."""

    preset: Literal["working", "reference"] = "working"
    """`reference` has a rate of 0.005, leaves the costs' part unclipped, and does not divide the loss by 1 + λ."""
    multiplier_rate: float = 1.0
    """Rise of the multiplier in an epoch, for each unit that the mean cost of an episode is over its limit."""
    ppo: PPOSettings = field(default_factory=PPOSettings)
    """The clipped objective, and how the policy descends on it."""

    def __post_init__(self) -> None:
        if self.preset == "reference":
            refuse_unused(self, FIXED_BY_PRESET, "multiplier_rate")

    def build(self, probability: float) -> Algorithm:
        working = self.preset == "working"
        multiplier = ScalarMultiplier(self.multiplier_rate if working else 0.005)
        clip = self.ppo.ratio_clip()
        return Algorithm(
            name="ppo-lagrangian",
            description="pays for the mean cost of an episode, at a price that rises over the limit; clipped",
            quantity="the mean cost of an episode",
            cost_critics=EPISODE_COST,
            penalty=Penalty(Lagrangian(), multiplier, EpisodeCost(), rescaled=working),
            step=self.ppo.descent,
            clip=clip if working else replace(clip, cost=None),
        )
