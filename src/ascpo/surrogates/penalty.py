"""Penalties: costs as a term of the loss, instead of constraints on the step."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.networks.multiplier import Multiplier
from ascpo.surrogates.evidence import Constraint, Evidence
from ascpo.surrogates.weights import Weights

_AT_LIMIT = 1e-9
"""A cost that is nearer to its limit than this counts as being at it, since 1/J would be infinite."""


@runtime_checkable
class PenaltyTerm(Protocol):
    """The costs' part of the loss."""

    def __call__(
        self, evidence: Evidence, weights: Weights, lam: Float[Array, "*axes m"], limits: Float[Array, " m"]
    ) -> Float[Array, ""]: ...


@runtime_checkable
class Violation(Protocol):
    """The quantity that a multiplier ascends on. It is above 0 while a limit is broken."""

    def __call__(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]: ...


@dataclass(frozen=True)
class Penalty:
    """The costs' part of the loss, and the multiplier that scales it."""

    term: PenaltyTerm
    multiplier: Multiplier | None = None
    violation: Violation | None = None
    """The quantity that a scalar multiplier ascends on. A state-dependent one uses the cost after each state."""
    rescaled: bool = False
    """Divide the whole loss by the mean of 1 + Σλ, so that steps do not grow with λ."""

    def __post_init__(self) -> None:
        if self.multiplier is not None and (self.violation is None) != self.multiplier.state_dependent:
            raise ValueError("A scalar multiplier needs a violation to ascend on. A state-dependent one takes none.")

    def added_to(
        self,
        loss: Float[Array, ""],
        evidence: Evidence,
        weights: Weights,
        lam: Float[Array, "*axes m"] | None,
        limits: Float[Array, " m"],
        charged: Float[Array, ""] | float = 1.0,
    ) -> Float[Array, ""]:
        """The loss plus the penalty. `charged` is the share of the penalty that is not waived."""
        lam = jnp.zeros_like(limits) if lam is None else lam
        whole = loss + charged * self.term(evidence, weights, lam, limits)
        return whole / jnp.mean(1.0 + charged * jnp.sum(lam, axis=-1)) if self.rescaled else whole


@dataclass(frozen=True)
class EpisodeCost:
    """J_C − w: the mean cost of an episode minus its limit."""

    def __call__(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return evidence.episodes.cost - limits


@dataclass(frozen=True)
class BoundOverLimit:
    """c of a constraint: its bound minus the limit."""

    constraint: Constraint

    def __call__(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return self.constraint.offset(evidence, limits)


@dataclass(frozen=True)
class Lagrangian:
    """ρ·mean of λ·ξ·A_C. λ may depend on the state."""

    strength: float = 1.0

    def __call__(
        self, evidence: Evidence, weights: Weights, lam: Float[Array, "*axes m"], limits: Float[Array, " m"]
    ) -> Float[Array, ""]:
        return self.strength * jnp.sum(jnp.mean(lam * weights.times(evidence.cost_advantage), axis=(0, 1)))


@dataclass(frozen=True)
class BoundLagrangian:
    """ρ·Σ λ·X, where X is the surrogate of a constraint."""

    constraint: Constraint
    strength: float = 1.0

    def __call__(
        self, evidence: Evidence, weights: Weights, lam: Float[Array, "*axes m"], limits: Float[Array, " m"]
    ) -> Float[Array, ""]:
        return self.strength * jnp.sum(lam * self.constraint.surrogate(evidence, weights))


@dataclass(frozen=True)
class Barrier:
    """−log(−J) / t where J < 0, and slope·J elsewhere. J = J_C − w + Σ ξ·A_C estimates the new policy's excess cost."""

    t: float
    slope: float

    def __call__(
        self, evidence: Evidence, weights: Weights, lam: Float[Array, "*axes m"], limits: Float[Array, " m"]
    ) -> Float[Array, ""]:
        J = EpisodeCost()(evidence, limits) + evidence.per_episode(weights.change(evidence.cost_advantage))
        inside = J < -_AT_LIMIT
        # Both branches are differentiated, so the logarithm must get a positive number everywhere.
        return jnp.sum(jnp.where(inside, -jnp.log(jnp.where(inside, -J, 1.0)) / self.t, self.slope * J))
