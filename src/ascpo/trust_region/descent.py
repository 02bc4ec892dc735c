"""Descent by Adam on a loss that is not to be trusted far away: it stops where the policy has moved enough (PPO)."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PyTree

from ascpo.trust_region.dual import Case
from ascpo.trust_region.line_search import Evaluation
from ascpo.trust_region.step import Report

Vector = Float[Array, " p"]


@dataclass(frozen=True)
class Descent:
    """How the policy descends."""

    learning_rate: float = 3e-4
    """Of Adam."""
    iterations: int = 80
    """Most steps an epoch, each on all of its data. It ends sooner where the divergence passes the region's radius."""

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise ValueError(f"iterations={self.iterations}: ask for at least one.")

    def start(self, theta: Vector) -> PyTree:
        return optax.adam(self.learning_rate).init(theta)


def descend(
    evaluate: Callable[[Vector], Evaluation], theta: Vector, adam: PyTree, delta: float, settings: Descent
) -> tuple[Vector, PyTree, Report]:
    """Steps of Adam while the divergence is at most δ. A step that is not finite is not taken, and the last."""
    optimiser = optax.adam(settings.learning_rate)

    def loss(point: Vector) -> tuple[Float[Array, ""], Evaluation]:
        at = evaluate(point)
        return at.loss, at

    def going(state: tuple[Int[Array, ""], Vector, PyTree, Bool[Array, ""]]) -> Bool[Array, ""]:
        i, _, _, go_on = state
        return go_on & (i < settings.iterations)

    def step(
        state: tuple[Int[Array, ""], Vector, PyTree, Bool[Array, ""]],
    ) -> tuple[Int[Array, ""], Vector, PyTree, Bool[Array, ""]]:
        i, point, adam, _ = state
        slope, at = jax.grad(loss, has_aux=True)(point)
        updates, stepped = optimiser.update(slope, adam, point)
        change = jnp.asarray(updates)
        good = (at.divergence <= delta) & jnp.all(jnp.isfinite(change))
        keep = lambda new, old: jnp.where(good, new, old)  # noqa: E731
        return i + good, keep(point + change, point), jax.tree.map(keep, stepped, adam), good

    start = evaluate(theta)
    taken, point, adam, _ = jax.lax.while_loop(going, step, (jnp.zeros((), jnp.int32), theta, adam, jnp.ones((), bool)))
    at = evaluate(point)
    nothing = jnp.zeros(0)
    return (
        point,
        adam,
        Report(
            case=jnp.array(int(Case.FREE)),
            lam=jnp.zeros(()),
            nu=nothing,
            asked=nothing,
            predicted=nothing,
            actual=nothing,
            gain=start.loss - at.loss,
            divergence=at.divergence,
            exponent=settings.iterations - taken,
            accepted=taken > 0,
            residual=jnp.zeros(()),
        ),
    )
