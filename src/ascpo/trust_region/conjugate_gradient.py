"""Solving F x = b for several b at once, by conjugate gradients."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_SMALL = 1e-30


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Solved:
    """x with F x ≈ b, row by row."""

    x: Float[Array, "n p"]
    residual: Float[Array, " n"]
    """‖b − F x‖ / ‖b‖, and 0 where b is."""


def solve(
    product: Callable[[Float[Array, " p"]], Float[Array, " p"]],
    b: Float[Array, "n p"],
    *,
    iterations: int,
    tolerance: float = 1e-4,
) -> Solved:
    """At most so many iterations for each row. A row of zeros has the solution zero."""
    # Rows of very different size would share one float32 dot product badly: solve for unit vectors.
    norm = jnp.linalg.norm(b, axis=1, keepdims=True)
    nothing = norm <= _SMALL
    unit = jnp.where(nothing, 0.0, b / jnp.where(nothing, 1.0, norm))

    def one(row: Float[Array, " p"]) -> tuple[Float[Array, " p"], Float[Array, ""]]:
        x, _ = jax.scipy.sparse.linalg.cg(product, row, maxiter=iterations, tol=tolerance)
        return x, jnp.linalg.norm(row - product(x))

    # One after the other: on the host, batched products of this kind take longer than as many single ones.
    x, residual = jax.lax.map(one, unit)
    return Solved(x * norm, residual)
