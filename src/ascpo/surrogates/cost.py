"""Expected cost: what CPO bounds.

X = mean of ξ·A_C over all steps      c = (J_C − w) / mean length
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.surrogates.evidence import Constraint, Evidence, Weights


def _surrogate(evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
    return jnp.mean(weights.times(evidence.cost_advantage), axis=(0, 1))


def _offset(evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
    return (evidence.episodes.cost - limits) / jnp.maximum(evidence.episodes.length, 1.0)


EXPECTED_COST = Constraint(_surrogate, _offset)
