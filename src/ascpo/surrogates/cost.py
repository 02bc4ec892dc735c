"""Expected cost: what CPO bounds.

X = mean of ξ·A_C over all steps      c = (J_C − w) / mean length
"""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.surrogates.evidence import Evidence, relative
from ascpo.surrogates.weights import Weights


@dataclass(frozen=True)
class ExpectedCost:
    """The mean cost of an episode stays at or under its limit."""

    def surrogate(self, evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        return jnp.mean(weights.times(evidence.cost_advantage), axis=(0, 1))

    def offset(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return (evidence.episodes.cost - limits) / jnp.maximum(evidence.episodes.length, 1.0)

    def relative_excess(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return relative(evidence.episodes.cost, limits)
