"""PCPO: a natural step, then a projection onto the constraint (arXiv:2010.03152)."""

from dataclasses import dataclass, field

from ascpo.algorithms.algorithm import EPISODE_COST, Algorithm
from ascpo.surrogates.cost import EXPECTED_COST
from ascpo.trust_region.projection import Projection


@dataclass(frozen=True)
class PCPO:
    """Settings of PCPO."""

    projection: Projection = field(default_factory=Projection)
    """How the step is brought back to where the constraint holds."""

    def build(self, probability: float) -> Algorithm:
        return Algorithm(
            name="pcpo",
            words="bounds the mean cost of an episode, by projection",
            quantity="the mean cost of an episode",
            cost_critics=EPISODE_COST,
            constraint=EXPECTED_COST,
            step=self.projection,
        )
