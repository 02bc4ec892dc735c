"""SCPO: the expected largest cost of an episode stays under its limit (arXiv:2306.12594)."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ascpo.algorithms.outline import Outline
from ascpo.surrogates.settings import TargetSettings

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm


@dataclass(frozen=True)
class SCPO:
    """Settings of SCPO."""

    target: TargetSettings = field(default_factory=TargetSettings)
    """What every step aims at for the bound."""

    def outline(self, probability: float) -> Outline:
        quantity = "the mean of an episode's largest cost"
        return Outline("scpo", f"bounds {quantity}", quantity=quantity, critics="softplus").constrained(self.target)

    def build(self, probability: float) -> "Algorithm":
        from ascpo.algorithms.algorithm import Algorithm, largest_cost
        from ascpo.experience.augmentation import RunningMaximum
        from ascpo.experience.signals import increments
        from ascpo.surrogates.maximum import ExpectedMaximum

        return Algorithm(
            *self.outline(probability).words,
            augmentation=RunningMaximum(),
            cost_critics=largest_cost(increments),
            constraint=ExpectedMaximum(),
            target=self.target.build(probability),
        )
