"""Augmentation: what the policy observes of its episode in addition to the environment's observation.

Nothing           the plain constrained problem.
Running maximum   the maximum MDP, in which a cost only accumulates:
                      Dₜ = max(Cₜ − Mₜ, 0)    Mₜ₊₁ = Mₜ + Dₜ    M₀ = 0
                  ΣD over an episode is its largest cost, so a bound on ΣD bounds every state. arXiv:2306.12594.
                  Costs below zero count as zero. With signed costs, which are negative where the state is safe, M may
                  start below zero, so that near misses count.
Running sum       the cost of the episode so far, for budgets.
Last cost         the cost of the last step, for models of the next cost.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ascpo.experience.scans import accumulate


@runtime_checkable
class Augmentation(Protocol):
    """A vector that is reset with every episode and updated with the costs of every step."""

    def initial(self, m: int) -> tuple[float, ...]:
        """The vector at the start of an episode, for m constraints."""
        ...

    def update(
        self, augmentation: Float[Array, " aug"], C: Float[Array, " m"], signed: Float[Array, " m"]
    ) -> Float[Array, " aug"]:
        """The vector after a step with these costs. `signed` are the same costs, but negative where C is 0."""
        ...


@dataclass(frozen=True)
class NoAugmentation:
    """No augmentation: the policy observes the environment alone."""

    def initial(self, m: int) -> tuple[float, ...]:
        return ()

    def update(
        self, augmentation: Float[Array, " aug"], C: Float[Array, " m"], signed: Float[Array, " m"]
    ) -> Float[Array, " aug"]:
        return augmentation


@dataclass(frozen=True)
class RunningMaximum:
    """M: the largest cost of the episode so far."""

    start: float = 0.0
    """M₀: 0, or a negative number for signed costs."""

    def initial(self, m: int) -> tuple[float, ...]:
        return (self.start,) * m

    def update(
        self, augmentation: Float[Array, " m"], C: Float[Array, " m"], signed: Float[Array, " m"]
    ) -> Float[Array, " m"]:
        return cost_increment(signed, augmentation)[1]


@dataclass(frozen=True)
class RunningSum:
    """Z: the cost of the episode so far."""

    def initial(self, m: int) -> tuple[float, ...]:
        return (0.0,) * m

    def update(
        self, augmentation: Float[Array, " m"], C: Float[Array, " m"], signed: Float[Array, " m"]
    ) -> Float[Array, " m"]:
        return augmentation + C


@dataclass(frozen=True)
class LastCost:
    """The cost of the last step."""

    def initial(self, m: int) -> tuple[float, ...]:
        return (0.0,) * m

    def update(
        self, augmentation: Float[Array, " m"], C: Float[Array, " m"], signed: Float[Array, " m"]
    ) -> Float[Array, " m"]:
        return C


def cost_increment(
    C: Float[Array, "*axes m"], M: Float[Array, "*axes m"]
) -> tuple[Float[Array, "*axes m"], Float[Array, "*axes m"]]:
    """(Cₜ, Mₜ) → (Dₜ, Mₜ₊₁)."""
    D = jnp.maximum(C - M, 0.0)
    return D, M + D


def running_sum(
    cost: Float[Array, "time env m"], done: Bool[Array, "time env"], Z: Float[Array, "env m"]
) -> tuple[Float[Array, "time env m"], Float[Array, "time env m"]]:
    """Zₜ and Zₜ₊₁ of every step. Z are the sums before the first step."""
    return accumulate(jnp.add, cost, done, Z)[:2]


def running_maximum(
    cost: Float[Array, "time env m"], done: Bool[Array, "time env"], M: Float[Array, "env m"]
) -> tuple[Float[Array, "time env m"], Float[Array, "time env m"]]:
    """Mₜ and Mₜ₊₁ of every step. M are the maxima before the first step."""
    return accumulate(jnp.maximum, cost, done, M)[:2]
