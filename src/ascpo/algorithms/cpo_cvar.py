"""CPO-CVaR: the mean cost of the worst episodes stays under its limit."""

from dataclasses import dataclass, field
from typing import Literal

from ascpo.algorithms.algorithm import EXCESS_COST, Algorithm, refuse_unused
from ascpo.experience.augmentation import RunningSum
from ascpo.surrogates.cvar import CVaR
from ascpo.surrogates.target import TargetSettings


@dataclass(frozen=True)
class CPOCVaR:
    """Settings of CPO-CVaR."""

    alpha: float = 0.9
    """α: the worst 1 − α of the episodes count."""
    preset: Literal["working", "reference"] = "working"
    """`reference` takes the worst 70 % of the episodes, as the released code does."""
    target: TargetSettings = field(default_factory=TargetSettings)
    """What every step is to achieve of the bound."""

    def __post_init__(self) -> None:
        CVaR(self.alpha)  # Refuses what α cannot be.
        if self.preset == "reference":
            refuse_unused(self, "preset=reference", "alpha")

    def build(self, probability: float) -> Algorithm:
        cvar = CVaR(0.3 if self.preset == "reference" else self.alpha)
        quantity = f"the mean cost of the worst {100 * (1 - cvar.alpha):g} % of the episodes"
        return Algorithm(
            name="cpo-cvar",
            description=f"bounds {quantity}",
            quantity=quantity,
            augmentation=RunningSum(),
            cost_critics=EXCESS_COST,
            constraint=cvar,
            target=self.target.build(probability),
            cvar=cvar,
        )
