"""CPO-CVaR: the mean cost of the worst episodes stays under its limit."""

from dataclasses import dataclass
from typing import Literal

from ascpo.algorithms.algorithm import OF_TAIL, Algorithm, Tailed
from ascpo.experience.memory import SUMS
from ascpo.surrogates.tail import tail_mean


@dataclass(frozen=True)
class CPOCVaR:
    """Settings of CPO-CVaR."""

    alpha: float = 0.9
    """α: the worst 1 − α of the episodes count."""
    preset: Literal["working", "reference"] = "working"
    """`reference`: the worst 70 % of the episodes, as in the released code."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.alpha < 1.0:
            raise ValueError(f"alpha={self.alpha} must be at least 0 and less than 1. Try 0.9.")

    def build(self, probability: float) -> Algorithm:
        alpha = 0.3 if self.preset == "reference" else self.alpha
        return Algorithm(
            name="cpo-cvar",
            words=f"bounds the mean cost of the worst {100 * (1 - alpha):g} % of the episodes",
            quantity=f"the mean cost of the worst {100 * (1 - alpha):g} % of the episodes",
            memory=SUMS,
            cost_critics=OF_TAIL,
            constraint=tail_mean(alpha),
            tail=Tailed(alpha),
        )
