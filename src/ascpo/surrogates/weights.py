"""Importance weights, clipped or not: they turn samples of the old policy into estimates for a new one."""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.experience.axes import aligned


@dataclass(frozen=True)
class RatioClip:
    """ε of clipped surrogates (PPO): ratios beyond 1 ± ε improve nothing further."""

    reward: float
    """ε of the reward's surrogate."""
    cost: float | None = None
    """ε of the costs' part of the loss. None leaves that part unclipped."""
    optimistic_costs: bool = False
    """Use the smaller of the clipped and the unclipped cost, instead of the larger."""


@dataclass(frozen=True)
class Weights:
    """ξ = π(a|ŝ) / πⱼ(a|ŝ), the ratio of the new policy's probability of an action to the old one's.

    With `clip`, the estimate of a quantity to minimise is pessimistic: max(ξz, clip(ξ, 1 − ε, 1 + ε)·z). Then ratios
    beyond 1 ± ε improve nothing further. With `optimistic`, it is the smaller of the two.
    """

    ratio: Float[Array, "time env"]
    clip: float | None = None
    optimistic: bool = False
    scale: Float[Array, "time env"] | None = None
    """The weight of every step, if scenes are replayed. None if all weights are 1."""

    def times(self, z: Float[Array, "time env *k"]) -> Float[Array, "time env *k"]:
        """ξz."""
        z = self._scaled(z)
        xi = aligned(self.ratio, z)
        if self.clip is None:
            return xi * z
        chosen = jnp.minimum if self.optimistic else jnp.maximum
        return chosen(xi * z, jnp.clip(xi, 1.0 - self.clip, 1.0 + self.clip) * z)

    def change(self, z: Float[Array, "time env *k"]) -> Float[Array, "time env *k"]:
        """ξz − z."""
        if self.scale is not None:
            return Weights(self.ratio, self.clip, self.optimistic).change(self._scaled(z))
        return (aligned(self.ratio, z) - 1.0) * z if self.clip is None else self.times(z) - z

    def _scaled(self, z: Float[Array, "time env *k"]) -> Float[Array, "time env *k"]:
        return z if self.scale is None else aligned(self.scale, z) * z
