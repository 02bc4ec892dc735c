"""The reward's surrogate: mean of ξ·A over all steps."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.surrogates.evidence import Evidence, Ratio


def expected_reward(evidence: Evidence, ratio: Ratio) -> Float[Array, ""]:
    return jnp.mean(ratio * evidence.advantage)
