"""CPO: the expected sum of an episode's costs stays under its limit (arXiv:1705.10528)."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ascpo.algorithms.outline import Outline
from ascpo.surrogates.settings import TargetSettings

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm


@dataclass(frozen=True)
class CPO:
    """Settings of CPO."""

    target: TargetSettings = field(default_factory=TargetSettings)
    """What every step aims at for the bound."""

    def outline(self, probability: float) -> Outline:
        return Outline(
            "cpo", "bounds the mean cost of an episode", "episode", "the mean cost of an episode", critics="linear"
        ).constrained(self.target)

    def build(self, probability: float) -> "Algorithm":
        from ascpo.algorithms.algorithm import EPISODE_COST, Algorithm
        from ascpo.surrogates.cost import ExpectedCost

        return Algorithm(
            *self.outline(probability).words,
            cost_critics=EPISODE_COST,
            constraint=ExpectedCost(),
            target=self.target.build(probability),
        )
