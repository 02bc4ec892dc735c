"""CPO: the expected sum of an episode's costs stays under its limit (arXiv:1705.10528)."""

from dataclasses import dataclass

from ascpo.algorithms.algorithm import EPISODE_COST, Algorithm
from ascpo.surrogates.cost import EXPECTED_COST


@dataclass(frozen=True)
class CPO:
    """Settings of CPO: it has none of its own."""

    def build(self, probability: float) -> Algorithm:
        return Algorithm(
            name="cpo",
            words="bounds the mean cost of an episode",
            quantity="the mean cost of an episode",
            cost_critics=EPISODE_COST,
            constraint=EXPECTED_COST,
        )
