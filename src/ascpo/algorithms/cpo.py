"""CPO: the expected sum of an episode's costs stays under its limit (arXiv:1705.10528)."""

from dataclasses import dataclass

from ascpo.algorithms.algorithm import Algorithm, CostCritics
from ascpo.experience.signals import expected_cost
from ascpo.networks.fitting import RARE, Fit
from ascpo.surrogates.cost import EXPECTED_COST


@dataclass(frozen=True)
class CPO:
    """Settings of CPO."""

    cost_fit: Fit = RARE
    """How the cost critics are fitted."""

    def build(self, probability: float) -> Algorithm:
        return Algorithm(
            name="cpo",
            words="the mean of an episode's cost",
            cost_critics=CostCritics(expected_cost, fit=self.cost_fit),
            constraint=EXPECTED_COST,
        )
