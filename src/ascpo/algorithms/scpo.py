"""SCPO: the expected largest cost of an episode stays under its limit (arXiv:2306.12594)."""

from dataclasses import dataclass

from ascpo.algorithms.algorithm import Algorithm, CostCritics
from ascpo.experience.memory import MAXIMA
from ascpo.experience.signals import increments
from ascpo.networks.fitting import RARE, Fit
from ascpo.surrogates.maximum import expected_maximum


@dataclass(frozen=True)
class SCPO:
    """Settings of SCPO."""

    cost_fit: Fit = RARE
    """How the cost critics are fitted."""
    cost_decay: float = 0.95
    """λ of the cost's generalised advantages."""
    output_bias: float | None = -4.0
    """Starts the cost critics' predictions near zero, where the truth is."""

    def build(self, probability: float) -> Algorithm:
        return Algorithm(
            name="scpo",
            words="the mean of an episode's largest cost",
            memory=MAXIMA,
            cost_critics=CostCritics(
                increments,
                discount=1.0,
                decay=self.cost_decay,
                beyond_time_limit=False,
                head="softplus",
                output_bias=self.output_bias,
                fit=self.cost_fit,
            ),
            constraint=expected_maximum(),
        )
