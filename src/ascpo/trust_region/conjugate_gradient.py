"""Conjugate gradients: solve F x = b for several b."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.trust_region.fisher import Vector

_SMALL = 1e-30


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Solved:
    """x with F x ≈ b, row by row."""

    x: Float[Array, "n p"]
    residual: Float[Array, " n"]
    """‖b − F x‖ / ‖b‖. 0 for b = 0."""


def solve(
    product: Callable[[Vector], Vector],
    b: Float[Array, "n p"],
    *,
    iterations: int,
    tolerance: float = 1e-4,
) -> Solved:
    """Solve for each row of b with at most so many iterations. A row of zeros has the solution zero."""
    # Unit vectors: rows of very different size would lose digits in float32.
    norm = jnp.linalg.norm(b, axis=1, keepdims=True)
    nothing = norm <= _SMALL
    unit = jnp.where(nothing, 0.0, b / jnp.where(nothing, 1.0, norm))

    def one(row: Vector) -> tuple[Vector, Float[Array, ""]]:
        x, _ = jax.scipy.sparse.linalg.cg(product, row, maxiter=iterations, tol=tolerance)
        return x, jnp.linalg.norm(row - product(x))

    # Sequentially: on the host, a batch of these products takes longer than as many single ones.
    x, residual = jax.lax.map(one, unit)
    return Solved(x * norm, residual)
