"""TRPO-CVaR: the mean cost of the worst episodes is paid for, at a price that rises while it is over the limit."""

from dataclasses import dataclass
from typing import Literal

from ascpo.algorithms.algorithm import OF_TAIL, Algorithm, Tailed
from ascpo.experience.memory import SUMS
from ascpo.networks.multiplier import Scalar
from ascpo.surrogates.penalty import Penalty, bounded
from ascpo.surrogates.tail import tail_mean


@dataclass(frozen=True)
class TRPOCVaR:
    """Settings of TRPO-CVaR."""

    preset: Literal["working", "reference"] = "working"
    """`reference`: the worst 70 % of the episodes, as in the released code."""
    alpha: float = 0.9
    """α: the worst 1 − α of the episodes count."""
    strength: float = 0.005
    """ρ: what the multiplier is multiplied with in the objective."""
    multiplier_rate: float = 0.005
    """By how much the multiplier rises an epoch, for each unit that their mean cost is over its limit."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.alpha < 1.0:
            raise ValueError(f"alpha={self.alpha} must be at least 0 and less than 1. Try 0.9.")

    def build(self, probability: float) -> Algorithm:
        alpha = 0.3 if self.preset == "reference" else self.alpha
        tail = tail_mean(alpha)
        return Algorithm(
            name="trpo-cvar",
            words=f"pays for the mean cost of the worst {100 * (1 - alpha):g} % of the episodes",
            quantity=f"the mean cost of the worst {100 * (1 - alpha):g} % of the episodes",
            memory=SUMS,
            cost_critics=OF_TAIL,
            penalty=Penalty(bounded(tail, self.strength), Scalar(self.multiplier_rate), tail.offset),
            tail=Tailed(alpha),
        )
