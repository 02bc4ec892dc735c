"""PASCPO: a clipped objective with a penalty for ASCPO's bound, whose multiplier rises while it is over the limit."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ascpo.algorithms.outline import Outline
from ascpo.algorithms.ppo_settings import PPOSettings
from ascpo.errors import BadSetting
from ascpo.ranges import NonNegative
from ascpo.theory.cantelli import PAPER_K

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm
    from ascpo.surrogates.penalty import Penalty


@dataclass(frozen=True)
class PASCPO:
    """Settings of PASCPO."""

    mode: Literal["paper", "reference"] = "paper"
    """The bound that the penalty is for: that of the same mode of ASCPO."""
    signal: Literal["largest", "sum"] = "largest"
    """The cost that the bound is about: the `largest` of an episode, or the `sum`. The released code uses the sum,
    because it never forms the increments of the largest cost. `sum` needs ascent=cost."""
    ascent: Literal["bound", "cost"] = "bound"
    """The quantity that the multiplier ascends on, minus the limit: the `bound` of an episode's largest cost, or the
    mean `cost` of an episode."""
    k: NonNegative = PAPER_K
    """Weight of the spread of the largest cost."""
    omega1: NonNegative = 0.005
    """ω₁, the paper's ‖μ‖∞."""
    omega2: NonNegative = 0.007
    """ω₂, the paper's |K|max."""
    multiplier_rate: NonNegative = 3.0
    """Rise of the multiplier in an epoch, for each unit over the limit."""
    strength: NonNegative = 1.0
    """ρ: factor of the multiplier in the objective."""
    rescaled: bool = True
    """Divide the whole loss by 1 + λ, so that steps do not grow with the multiplier."""
    ppo: PPOSettings = field(default_factory=PPOSettings)
    """The clipped objective, and its optimisation."""

    def __post_init__(self) -> None:
        if self.signal == "sum" and self.ascent == "bound":
            raise BadSetting(
                "signal=sum penalises the sum of an episode's costs, but with ascent=bound its multiplier would rise "
                "with a bound of the largest one. Use ascent=cost with signal=sum, or leave signal=largest."
            )

    def _penalty(self) -> "Penalty":
        from ascpo.networks.multiplier import ScalarMultiplier
        from ascpo.surrogates.maximum import PaperBound, ReferenceBound
        from ascpo.surrogates.penalty import BoundLagrangian, BoundOverLimit, EpisodeCost, Penalty

        kind = PaperBound if self.mode == "paper" else ReferenceBound
        bound = kind(self.k, self.omega1, self.omega2)
        violation = BoundOverLimit(bound) if self.ascent == "bound" else EpisodeCost()
        term = BoundLagrangian(bound, self.strength)
        return Penalty(term, ScalarMultiplier(self.multiplier_rate), violation, self.rescaled)

    def outline(self, probability: float) -> Outline:
        cost = "an episode's largest cost" if self.signal == "largest" else "the sum of an episode's costs"
        return Outline(
            "pascpo",
            f"penalises a bound of {cost}, with a rising multiplier; clipped; k = {self.k:g}",
            quantity=f"a bound of {cost}",
            mechanism="penalty",
            critics="softplus",
            step="clipped",
        )

    def build(self, probability: float) -> "Algorithm":
        from ascpo.algorithms.algorithm import Algorithm, largest_cost
        from ascpo.experience.augmentation import RunningMaximum
        from ascpo.experience.signals import expected_cost, increments

        return Algorithm(
            *self.outline(probability).words,
            augmentation=RunningMaximum(),
            cost_critics=largest_cost(increments if self.signal == "largest" else expected_cost),
            penalty=self._penalty(),
            step=self.ppo.descent,
            clip=self.ppo.ratio_clip(),
        )
