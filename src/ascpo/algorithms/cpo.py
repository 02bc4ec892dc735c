"""CPO: the expected sum of an episode's costs stays under its limit (arXiv:1705.10528)."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ascpo.surrogates.settings import TargetSettings

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm


@dataclass(frozen=True)
class CPO:
    """Settings of CPO."""

    target: TargetSettings = field(default_factory=TargetSettings)
    """What every step aims at for the bound."""

    def build(self, probability: float) -> "Algorithm":
        from ascpo.algorithms.algorithm import EPISODE_COST, Algorithm
        from ascpo.surrogates.cost import ExpectedCost

        return Algorithm(
            name="cpo",
            description="bounds the mean cost of an episode",
            limits_on="episode",
            quantity="the mean cost of an episode",
            cost_critics=EPISODE_COST,
            constraint=ExpectedCost(),
            target=self.target.build(probability),
        )
