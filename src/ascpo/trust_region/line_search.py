"""Backtracking: the first of the steps x, ρx, ρ²x, … that is acceptable for the true functions."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ascpo.trust_region.fisher import Vector


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Evaluation:
    """The true functions at a point."""

    loss: Float[Array, ""]
    constraints: Float[Array, " m"]
    divergence: Float[Array, ""]
    """From the centre of the region."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LineSearchResult:
    """The result of a line search: the centre itself if no step was accepted."""

    theta: Vector
    at: Evaluation
    exponent: Int[Array, ""]
    """The step is ρ^exponent times the proposed one."""
    accepted: Bool[Array, ""]

    def step(self, x: Vector, factor: float) -> Vector:
        """The accepted step, from the proposed step x. 0 if none was accepted."""
        return jnp.where(self.accepted, factor**self.exponent * x, 0.0)


def backtrack(
    evaluate: Callable[[Vector], Evaluation],
    accept: Callable[[Evaluation], Bool[Array, ""]],
    theta: Vector,
    x: Vector,
    start: Evaluation,
    factor: float,
    trials: int,
) -> LineSearchResult:
    """Search for an acceptable step. A step that is not finite is never accepted."""

    def unfinished(state: tuple[Array, Evaluation, Array]) -> Bool[Array, ""]:
        i, _, good = state
        return ~good & (i < trials)

    def attempt(state: tuple[Array, Evaluation, Array]) -> tuple[Array, Evaluation, Array]:
        i, _, _ = state
        point = theta + factor**i * x
        at = evaluate(point)
        finite = jnp.isfinite(at.loss) & jnp.all(jnp.isfinite(at.constraints)) & jnp.isfinite(at.divergence)
        finite &= jnp.all(jnp.isfinite(point))
        return i + 1, at, accept(at) & finite

    i, at, accepted = jax.lax.while_loop(unfinished, attempt, (jnp.zeros((), jnp.int32), start, jnp.zeros((), bool)))
    exponent = jnp.maximum(i - 1, 0)
    return LineSearchResult(
        theta=jnp.where(accepted, theta + factor**exponent * x, theta),
        at=jax.tree.map(lambda new, old: jnp.where(accepted, new, old), at, start),
        exponent=exponent,
        accepted=accepted,
    )
