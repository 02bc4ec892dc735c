"""CPO-CVaR: the mean cost of the worst episodes stays under its limit."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from ascpo.algorithms.outline import Outline
from ascpo.ranges import Range
from ascpo.surrogates.settings import TargetSettings, worst_episodes

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm


@dataclass(frozen=True)
class CPOCVaR:
    """Settings of CPO-CVaR."""

    alpha: Annotated[float, Range(at_least=0.0, below=1.0)] = 0.9
    """α: the quantile above which episodes count. The constraint is about the worst 1 − α of them."""
    target: TargetSettings = field(default_factory=TargetSettings)
    """What every step aims at for the bound."""

    def outline(self, probability: float) -> Outline:
        quantity = worst_episodes(self.alpha)
        outline = Outline("cpo-cvar", f"bounds {quantity}", "episode", quantity, critics="softplus", cvar=True)
        return outline.constrained(self.target)

    def build(self, probability: float) -> "Algorithm":
        from ascpo.algorithms.algorithm import EXCESS_COST, Algorithm
        from ascpo.experience.augmentation import RunningSum
        from ascpo.surrogates.cvar import CVaR

        cvar = CVaR(self.alpha)
        return Algorithm(
            *self.outline(probability).words,
            augmentation=RunningSum(),
            cost_critics=EXCESS_COST,
            constraint=cvar,
            target=self.target.build(probability),
            cvar=cvar,
        )
