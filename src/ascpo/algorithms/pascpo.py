"""PASCPO: ASCPO's bound as a price in a clipped objective, which rises while the bound is over the limit."""

from dataclasses import dataclass, field
from typing import Literal

from ascpo.algorithms.algorithm import FIXED_BY_PRESET, Algorithm, PPOSettings, largest_cost, refuse_unused
from ascpo.experience.augmentation import RunningMaximum
from ascpo.experience.signals import increments
from ascpo.networks.multiplier import ScalarMultiplier
from ascpo.surrogates.maximum import PaperBound, ReferenceBound
from ascpo.surrogates.penalty import BoundOverLimit, EpisodeCost, Penalty, PricedBound
from ascpo.theory.cantelli import PAPER_K


@dataclass(frozen=True)
class PASCPO:
    """Settings of PASCPO."""

    preset: Literal["working", "reference"] = "working"
    """`reference` has the released code's bound, strength 0.05, and a multiplier that ascends on the mean cost."""
    k: float = PAPER_K
    """Weight of the spread of the largest cost."""
    omega1: float = 0.005
    """ω₁, the paper's ‖μ‖∞."""
    omega2: float = 0.007
    """ω₂, the paper's |K|max."""
    multiplier_rate: float = 3.0
    """Rise of the multiplier in an epoch, for each unit that the bound is over the limit."""
    ppo: PPOSettings = field(default_factory=PPOSettings)
    """The clipped objective, and how the policy descends on it."""

    def __post_init__(self) -> None:
        if self.preset == "reference":
            refuse_unused(self, FIXED_BY_PRESET, "multiplier_rate")

    def _penalty(self) -> Penalty:
        if self.preset == "reference":
            bound = ReferenceBound(self.k, self.omega1, self.omega2)
            return Penalty(PricedBound(bound, 0.05), ScalarMultiplier(0.005), EpisodeCost())
        bound = PaperBound(self.k, self.omega1, self.omega2)
        return Penalty(PricedBound(bound), ScalarMultiplier(self.multiplier_rate), BoundOverLimit(bound), rescaled=True)

    def build(self, probability: float) -> Algorithm:
        return Algorithm(
            name="pascpo",
            description=f"pays for a bound of an episode's largest cost, at a rising price; clipped; k = {self.k:g}",
            quantity="a bound of an episode's largest cost",
            augmentation=RunningMaximum(),
            cost_critics=largest_cost(increments),
            penalty=self._penalty(),
            step=self.ppo.descent,
            clip=self.ppo.ratio_clip(),
        )
