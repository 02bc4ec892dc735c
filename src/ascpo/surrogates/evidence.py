"""What a rollout tells about the policy that acted in it."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.experience.episodes import Summary
from ascpo.experience.tail import Tail


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
    cost_to_go: Float[Array, "time env k"] | None = None
    """What did follow each step, where someone wants to know."""
    tail: Tail | None = None
    """Of the episodes' costs, where someone wants to know."""

    def per_episode(self, x: Float[Array, "time env *k"]) -> Float[Array, "*k"]:
        """Sum over the steps of an episode, mean over episodes."""
        return jnp.sum(x, axis=(0, 1)) / self.episodes.count


@dataclass(frozen=True)
class Weights:
    """ξ = π(a|ŝ) / πⱼ(a|ŝ), by which what the old policy did says what the new one would.

    With `clip` the estimate of a quantity that shall fall is pessimistic: max(ξz, clip(ξ, 1 − ε, 1 + ε)·z). Ratios
    beyond the clip can promise nothing more.
    """

    ratio: Float[Array, "time env"]
    clip: float | None = None

    def times(self, z: Float[Array, "time env *k"]) -> Float[Array, "time env *k"]:
        """ξz."""
        xi = self._beside(z, self.ratio)
        if self.clip is None:
            return xi * z
        return jnp.maximum(xi * z, jnp.clip(xi, 1.0 - self.clip, 1.0 + self.clip) * z)

    def change(self, z: Float[Array, "time env *k"]) -> Float[Array, "time env *k"]:
        """ξz − z."""
        return (self._beside(z, self.ratio) - 1.0) * z if self.clip is None else self.times(z) - z

    def _beside(self, z: Float[Array, "time env *k"], ratio: Float[Array, "time env"]) -> Float[Array, "time env *one"]:
        return ratio.reshape(ratio.shape + (1,) * (z.ndim - ratio.ndim))


@dataclass(frozen=True)
class Constraint:
    """c + X(π) − X(πⱼ) ≤ 0, for each of m constraints."""

    surrogate: Callable[[Evidence, Weights], Float[Array, " m"]]
    """X."""
    offset: Callable[[Evidence, Float[Array, " m"]], Float[Array, " m"]]
    """c, given the limits."""


def centred(advantage: Float[Array, "time env *k"]) -> Float[Array, "time env *k"]:
    return advantage - jnp.mean(advantage, axis=(0, 1))


def normalised(advantage: Float[Array, "time env"]) -> Float[Array, "time env"]:
    """Mean 0 and standard deviation 1; all zeros if all are equal."""
    spread = jnp.std(advantage)
    return jnp.where(spread > 1e-8, centred(advantage) / jnp.maximum(spread, 1e-8), 0.0)
