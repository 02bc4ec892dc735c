"""Conditional value at risk: the mean cost of the worst episodes.

X = Σ ξ·A / (1 − α)      c = CVaR_α − w      A the advantage of (Z − ν)₊
"""

from dataclasses import dataclass

from jaxtyping import Array, Float

from ascpo.surrogates.evidence import Evidence, relative
from ascpo.surrogates.weights import Weights


@dataclass(frozen=True)
class CVaR:
    """The mean cost of the worst 1 − α of the episodes stays at or under its limit."""

    alpha: float

    @property
    def quantity(self) -> str:
        """A description of the bounded quantity."""
        return f"the mean cost of the worst {100 * (1 - self.alpha):g} % of the episodes"

    def surrogate(self, evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        return evidence.per_episode(weights.times(evidence.cost_advantage)) / (1.0 - self.alpha)

    def offset(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return self._mean_of_worst(evidence) - limits

    def relative_excess(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return relative(self._mean_of_worst(evidence), limits)

    def _mean_of_worst(self, evidence: Evidence) -> Float[Array, " m"]:
        if evidence.cost_tail is None:
            raise ValueError("CVaR needs the tail of the episodes' costs: give the algorithm a RunningSum and a CVaR.")
        return evidence.cost_tail.cvar(self.alpha)
