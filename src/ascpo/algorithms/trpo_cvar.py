"""TRPO-CVaR: a penalty for the mean cost of the worst episodes, whose multiplier rises while it is over the limit."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from ascpo.algorithms.outline import Outline
from ascpo.ranges import NonNegative, Range
from ascpo.surrogates.settings import worst_episodes

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm


@dataclass(frozen=True)
class TRPOCVaR:
    """Settings of TRPO-CVaR."""

    alpha: Annotated[float, Range(at_least=0.0, below=1.0)] = 0.9
    """α: the quantile above which episodes count. The penalty is for the worst 1 − α of them."""
    strength: NonNegative = 0.005
    """ρ: factor of the multiplier in the objective."""
    multiplier_rate: NonNegative = 0.005
    """Rise of the multiplier in an epoch, for each unit that the mean cost of these episodes is over its limit."""

    def outline(self, probability: float) -> Outline:
        quantity = worst_episodes(self.alpha)
        words = ("trpo-cvar", f"penalises {quantity}")
        return Outline(*words, "episode", quantity, "penalty", critics="softplus", cvar=True)

    def build(self, probability: float) -> "Algorithm":
        from ascpo.algorithms.algorithm import EXCESS_COST, Algorithm
        from ascpo.experience.augmentation import RunningSum
        from ascpo.networks.multiplier import ScalarMultiplier
        from ascpo.surrogates.cvar import CVaR
        from ascpo.surrogates.penalty import BoundLagrangian, BoundOverLimit, Penalty

        cvar = CVaR(self.alpha)
        term, violation = BoundLagrangian(cvar, self.strength), BoundOverLimit(cvar)
        return Algorithm(
            *self.outline(probability).words,
            augmentation=RunningSum(),
            cost_critics=EXCESS_COST,
            penalty=Penalty(term, ScalarMultiplier(self.multiplier_rate), violation),
            cvar=cvar,
        )
