"""Cost signals: what a step adds to the sums that cost critics predict.

expected cost      Cₜ                    sums to the episode's cost
increments         Dₜ = Mₜ₊₁ − Mₜ        sums to its largest cost 𝒟
moments            Dₜ and Mₜ₊₁² − Mₜ²    sum to 𝒟 and to 𝒟²
crossings          1 when M passes w     sum to 1 if 𝒟 > w, else to 0
"""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

Signal = Callable[
    [Float[Array, "time env m"], Float[Array, "time env m"], Float[Array, "time env m"], Float[Array, " m"]],
    Float[Array, "time env k"],
]
"""(costs, maxima before each step, maxima after it, limits) → k signals, k a multiple of the number of constraints."""


def expected_cost(
    C: Float[Array, "time env m"],
    M: Float[Array, "time env m"],
    M_next: Float[Array, "time env m"],
    w: Float[Array, " m"],
) -> Float[Array, "time env k"]:
    del M, M_next, w
    return C


def increments(
    C: Float[Array, "time env m"],
    M: Float[Array, "time env m"],
    M_next: Float[Array, "time env m"],
    w: Float[Array, " m"],
) -> Float[Array, "time env k"]:
    del C, w
    return M_next - M


def moments(
    C: Float[Array, "time env m"],
    M: Float[Array, "time env m"],
    M_next: Float[Array, "time env m"],
    w: Float[Array, " m"],
) -> Float[Array, "time env k"]:
    """All first moments, then all second ones."""
    del C, w
    return jnp.concatenate([M_next - M, M_next**2 - M**2], axis=-1)


def crossings(
    C: Float[Array, "time env m"],
    M: Float[Array, "time env m"],
    M_next: Float[Array, "time env m"],
    w: Float[Array, " m"],
) -> Float[Array, "time env k"]:
    del C
    return ((w >= M) & (M_next > w)).astype(jnp.float32)
