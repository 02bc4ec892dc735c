"""The reward's surrogate: mean of ξ·A over all steps."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.surrogates.evidence import Evidence
from ascpo.surrogates.weights import Weights


def reward_loss(evidence: Evidence, weights: Weights) -> Float[Array, ""]:
    """The loss −mean of ξA. Clipped, it is −mean of min(ξA, clip(ξ)A)."""
    return jnp.mean(weights.times(-evidence.advantage))
