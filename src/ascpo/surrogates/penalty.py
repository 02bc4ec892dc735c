"""Penalties: costs that the objective pays for, instead of constraints that a step keeps."""

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.networks.multiplier import Multiplier
from ascpo.surrogates.evidence import Constraint, Evidence, Weights

Price = Callable[[Evidence, Weights, Float[Array, "*axes m"], Float[Array, " m"]], Float[Array, ""]]
"""(evidence, weights, λ, limits) → what is added to the loss."""
_AT_LIMIT = 1e-9
"""Nearer to its limit than this, a cost is at it: 1/J would be no number."""


@dataclass(frozen=True)
class Penalty:
    """What costs add to the loss, and what decides how much."""

    price: Price
    multiplier: Multiplier | None = None
    violation: Callable[[Evidence, Float[Array, " m"]], Float[Array, " m"]] | None = None
    """What the multiplier climbs on: above 0 while a limit is broken."""
    rescaled: bool = False
    """Divide the whole loss by the mean of 1 + Σλ, so that a large λ does not make the steps large."""

    def added(
        self,
        loss: Float[Array, ""],
        evidence: Evidence,
        weights: Weights,
        lam: Float[Array, "*axes m"] | None,
        limits: Float[Array, " m"],
    ) -> Float[Array, ""]:
        """The loss with the price of costs."""
        lam = jnp.zeros_like(limits) if lam is None else lam
        whole = loss + self.price(evidence, weights, lam, limits)
        return whole / jnp.mean(1.0 + jnp.sum(lam, axis=-1)) if self.rescaled else whole


def episode_cost(evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
    """J_C − w: the mean cost of an episode over its limit."""
    return evidence.episodes.cost - limits


def lagrangian(strength: float) -> Price:
    """ρ·mean of λ·ξ·A_C. λ may differ from state to state."""

    def price(
        evidence: Evidence, weights: Weights, lam: Float[Array, "*axes m"], limits: Float[Array, " m"]
    ) -> Float[Array, ""]:
        return strength * jnp.sum(jnp.mean(lam * weights.times(evidence.cost_advantage), axis=(0, 1)))

    return price


def bounded(constraint: Constraint, strength: float) -> Price:
    """ρ·Σ λ·X, X as a constraint has it."""

    def price(
        evidence: Evidence, weights: Weights, lam: Float[Array, "*axes m"], limits: Float[Array, " m"]
    ) -> Float[Array, ""]:
        return strength * jnp.sum(lam * constraint.surrogate(evidence, weights))

    return price


def barrier(t: float, slope: float) -> Price:
    """−log(−J) / t where J < 0, and slope·J beyond: J = J_C − w + Σ ξ·A_C, the cost that the new policy would have."""

    def price(
        evidence: Evidence, weights: Weights, lam: Float[Array, "*axes m"], limits: Float[Array, " m"]
    ) -> Float[Array, ""]:
        J = episode_cost(evidence, limits) + evidence.per_episode(weights.change(evidence.cost_advantage))
        inside = J < -_AT_LIMIT
        # Both branches are differentiated, so the logarithm must not see what is not its own.
        return jnp.sum(jnp.where(inside, -jnp.log(jnp.where(inside, -J, 1.0)) / t, slope * J))

    return price
