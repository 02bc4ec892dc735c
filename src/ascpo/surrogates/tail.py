"""Conditional value at risk: the mean of the worst episodes' costs.

X = Σ ξ·A / (1 − α)      c = CVaR_α − w      A the advantage of (Z − ν)₊
"""

from jaxtyping import Array, Float

from ascpo.surrogates.evidence import Constraint, Evidence, Weights


def tail_mean(alpha: float) -> Constraint:
    def surrogate(evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        return evidence.per_episode(weights.times(evidence.cost_advantage)) / (1.0 - alpha)

    def offset(evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        if evidence.tail is None:
            raise ValueError("CVaR needs the tail of the episodes' costs.")
        return evidence.tail.cvar(alpha) - limits

    return Constraint(surrogate, offset)
