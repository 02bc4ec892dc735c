"""SCPO: the expected largest cost of an episode stays under its limit (arXiv:2306.12594)."""

from dataclasses import dataclass

from ascpo.algorithms.algorithm import Algorithm, of_largest_cost
from ascpo.experience.memory import MAXIMA
from ascpo.experience.signals import increments
from ascpo.surrogates.maximum import expected_maximum


@dataclass(frozen=True)
class SCPO:
    """Settings of SCPO: it has none of its own."""

    def build(self, probability: float) -> Algorithm:
        return Algorithm(
            name="scpo",
            words="bounds the mean of an episode's largest cost",
            quantity="the mean of an episode's largest cost",
            memory=MAXIMA,
            cost_critics=of_largest_cost(increments),
            constraint=expected_maximum(),
        )
