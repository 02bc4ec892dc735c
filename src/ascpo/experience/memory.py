"""What a policy remembers of its episode, and sees beside the observation.

Nothing:      the plain constrained problem.
The maxima:   the maximum MDP, in which a cost only accumulates:
                  Dₜ = max(Cₜ − Mₜ, 0)    Mₜ₊₁ = Mₜ + Dₜ    M₀ = 0
              ΣD over an episode is its largest cost, so a bound on ΣD bounds every state. arXiv:2306.12594.
              Costs below zero count as zero.
The sums:     what the episode has cost so far, for budgets.
The last:     what the last step cost, for models of the next.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ascpo.experience.scans import accumulate


@dataclass(frozen=True)
class EpisodeMemory:
    """A vector that starts anew with every episode."""

    start: Callable[[int], tuple[float, ...]]
    """Its first value, for m constraints."""
    after: Callable[[Float[Array, " memory"], Float[Array, " m"]], Float[Array, " memory"]]


def cost_increment(
    C: Float[Array, "*axes m"], M: Float[Array, "*axes m"]
) -> tuple[Float[Array, "*axes m"], Float[Array, "*axes m"]]:
    """(Cₜ, Mₜ) → (Dₜ, Mₜ₊₁)."""
    D = jnp.maximum(C - M, 0.0)
    return D, M + D


def running_sum(
    cost: Float[Array, "time env m"], done: Bool[Array, "time env"], Z: Float[Array, "env m"]
) -> tuple[Float[Array, "time env m"], Float[Array, "time env m"]]:
    """Zₜ and Zₜ₊₁ of every step, from the sums with which the first step began."""
    return accumulate(jnp.add, cost, done, Z)[:2]


def running_maximum(
    cost: Float[Array, "time env m"], done: Bool[Array, "time env"], M: Float[Array, "env m"]
) -> tuple[Float[Array, "time env m"], Float[Array, "time env m"]]:
    """Mₜ and Mₜ₊₁ of every step, from the maxima with which the first step began."""
    return accumulate(jnp.maximum, cost, done, M)[:2]


NOTHING = EpisodeMemory(start=lambda m: (), after=lambda memory, costs: memory)
MAXIMA = EpisodeMemory(start=lambda m: (0.0,) * m, after=lambda M, C: cost_increment(C, M)[1])
SUMS = EpisodeMemory(start=lambda m: (0.0,) * m, after=lambda Z, C: Z + C)
LAST = EpisodeMemory(start=lambda m: (0.0,) * m, after=lambda last, C: C)
