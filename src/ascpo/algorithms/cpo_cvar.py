"""CPO-CVaR: the mean cost of the worst episodes stays under its limit."""

from dataclasses import dataclass, field
from typing import Literal

from ascpo.algorithms.algorithm import EXCESS_COST, Algorithm, cvar_of
from ascpo.experience.augmentation import RunningSum
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
        cvar_of(self)

    def build(self, probability: float) -> Algorithm:
        cvar = cvar_of(self)
        return Algorithm(
            name="cpo-cvar",
            description=f"bounds {cvar.quantity}",
            quantity=cvar.quantity,
            augmentation=RunningSum(),
            cost_critics=EXCESS_COST,
            constraint=cvar,
            target=self.target.build(probability),
            cvar=cvar,
        )
