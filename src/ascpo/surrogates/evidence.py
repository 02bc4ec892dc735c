"""What a rollout tells about the policy that acted in it."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.experience.episodes import Summary


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Evidence:
    """Advantages of every step, and the episodes that finished."""

    advantage: Float[Array, "time env"]
    """Of the reward, with mean 0 and standard deviation 1."""
    cost_advantage: Float[Array, "time env k"]
    """Of each cost signal, with mean 0."""
    cost_residual: Float[Array, "time env k"]
    """δ: each cost critic's surprise, as it is."""
    episodes: Summary

    def per_episode(self, x: Float[Array, "time env *k"]) -> Float[Array, "*k"]:
        """Sum over the steps of an episode, mean over episodes."""
        return jnp.sum(x, axis=(0, 1)) / self.episodes.count


Ratio = Float[Array, "time env"]
"""ξ = π(a|ŝ) / πⱼ(a|ŝ)."""


@dataclass(frozen=True)
class Constraint:
    """c + X(π) − X(πⱼ) ≤ 0, for each of m constraints."""

    surrogate: Callable[[Evidence, Ratio], Float[Array, " m"]]
    """X."""
    offset: Callable[[Evidence, Float[Array, " m"]], Float[Array, " m"]]
    """c, given the limits."""


def centred(advantage: Float[Array, "time env *k"]) -> Float[Array, "time env *k"]:
    return advantage - jnp.mean(advantage, axis=(0, 1))


def normalised(advantage: Float[Array, "time env"]) -> Float[Array, "time env"]:
    """Mean 0 and standard deviation 1; all zeros if all are equal."""
    spread = jnp.std(advantage)
    return jnp.where(spread > 1e-8, centred(advantage) / jnp.maximum(spread, 1e-8), 0.0)
