"""The policies of the last epochs: their parameters, and the mean of them.

Training is noisy: single policies differ more from each other than from their mean. So the last few are kept, to be
averaged or to be selected from.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ascpo.guard.layout import AnyArray


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class RecentPolicies:
    """The parameters after each of the last epochs."""

    theta: Float[Array, "n p"]
    """The latest is last. The first rows are empty until enough epochs are done."""
    count: Int[Array, ""]
    """Number of rows that are not empty."""


def no_policies(n: int, parameters: int) -> RecentPolicies:
    return RecentPolicies(jnp.zeros((n, parameters)), jnp.zeros((), jnp.int32))


@jax.jit
def remember(recent: RecentPolicies, theta: Float[Array, " p"]) -> RecentPolicies:
    """Add the policy after an epoch, and drop the earliest."""
    rows = jnp.concatenate([recent.theta[1:], theta[None]])
    return RecentPolicies(rows, jnp.minimum(recent.count + 1, len(rows)))


def last_thetas(recent: RecentPolicies | None, theta: Float[AnyArray, " p"]) -> Float[np.ndarray, "count p"]:
    """The kept parameters, the latest last: those of `recent`, or `theta` alone."""
    count = 0 if recent is None else int(recent.count)
    return np.asarray(theta)[None] if recent is None or not count else np.asarray(recent.theta)[-count:]


def mean_theta(thetas: Float[np.ndarray, "count p"]) -> Float[np.ndarray, " p"]:
    """θ̄ = (θ₁ + … + θₙ)/n, summed in double precision: the same on every machine."""
    return np.asarray(np.mean(thetas, axis=0, dtype=np.float64), np.float32)
