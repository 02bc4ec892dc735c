"""What a rollout tells about the policy that acted in it, and what a constraint makes of that."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.experience.cvar import CostTail
from ascpo.experience.episodes import EpisodeStatistics
from ascpo.surrogates.weights import Weights


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Evidence:
    """Advantages of every step, and the episodes that finished."""

    advantage: Float[Array, "time env"]
    """Of the reward, with mean 0 and standard deviation 1."""
    cost_advantage: Float[Array, "time env k"]
    """Of each cost signal, with mean 0."""
    cost_td_error: Float[Array, "time env k"]
    """δ of each cost critic, as it is."""
    episodes: EpisodeStatistics
    cost_to_go: Float[Array, "time env k"] | None = None
    """The cost that did follow each step; None where nobody needs it."""
    cost_tail: CostTail | None = None
    """The upper tail of the episodes' costs; None where nobody needs it."""

    def per_episode(self, x: Float[Array, "time env *k"]) -> Float[Array, "*k"]:
        """Sum over the steps of an episode, mean over episodes."""
        return jnp.sum(x, axis=(0, 1)) / self.episodes.count


@runtime_checkable
class Constraint(Protocol):
    """c + X(π) − X(πⱼ) ≤ 0, for each of m constraints."""

    def surrogate(self, evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        """X."""
        ...

    def offset(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        """c: by how much the bounded quantity is over its limit."""
        ...


def centred(advantage: Float[Array, "time env *k"]) -> Float[Array, "time env *k"]:
    return advantage - jnp.mean(advantage, axis=(0, 1))


def normalised(advantage: Float[Array, "time env"]) -> Float[Array, "time env"]:
    """Mean 0 and standard deviation 1; all zeros if all are equal."""
    spread = jnp.std(advantage)
    return jnp.where(spread > 1e-8, centred(advantage) / jnp.maximum(spread, 1e-8), 0.0)
