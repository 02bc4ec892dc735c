"""Near misses: learning uses costs that begin before the real ones do.

Violations are rare, and the gradient of a rare event is mostly noise. If an environment gives margins, which say how
near its costs are (`Rollout.signed_cost`, C̃), learning can use

    Cₜ' = max(C̃ₜ + h, 0)

instead of the cost: the extended cost, as if every forbidden region reached h further. Everything that is learned from
costs uses C', including the running maxima. Everything that is measured, logged, controlled by feedback and certified
uses the real cost. h shrinks linearly from its first value to its last one during the training.

An episode during which h shrinks keeps its maxima and sums.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ascpo.experience.augmentation import running_maximum, running_sum


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NearMiss:
    """h, and the running episodes' maxima and sums of C'."""

    h: Float[Array, ""]
    shrink: Float[Array, ""]
    """The decrease of h after every epoch."""
    end: Float[Array, ""]
    """The smallest h."""
    max_cost: Float[Array, "env m"]
    """The largest C' of the running episodes."""
    cost: Float[Array, "env m"]
    """Their sums of C'."""

    def extended_cost(self, signed_cost: Float[Array, "time env m"]) -> Float[Array, "time env m"]:
        """C' of every step."""
        return jnp.maximum(signed_cost + self.h, 0.0)

    def maxima(
        self, extended: Float[Array, "time env m"], done: Bool[Array, "time env"]
    ) -> tuple[Float[Array, "time env m"], Float[Array, "time env m"]]:
        """The largest C' of the episode, before and after every step."""
        return running_maximum(extended, done, self.max_cost)

    def sums(
        self, extended: Float[Array, "time env m"], done: Bool[Array, "time env"]
    ) -> tuple[Float[Array, "time env m"], Float[Array, "time env m"]]:
        """The sum of C' over the episode, before and after every step."""
        return running_sum(extended, done, self.cost)

    def after(
        self, max_cost: Float[Array, "env m"], cost: Float[Array, "env m"], done: Bool[Array, " env"]
    ) -> "NearMiss":
        """The state after an epoch, from the maxima and sums after its last step."""
        over = done[:, None]
        h = jnp.maximum(self.h - self.shrink, self.end)
        return replace(self, h=h, max_cost=jnp.where(over, 0.0, max_cost), cost=jnp.where(over, 0.0, cost))

    def cut(self) -> "NearMiss":
        """The state after all running episodes were cut off."""
        return replace(self, max_cost=jnp.zeros_like(self.max_cost), cost=jnp.zeros_like(self.cost))


def begin_near_miss(start: float, end: float, epochs: int, num_envs: int, m: int) -> NearMiss:
    """The state before a training of so many epochs."""
    nothing = jnp.zeros((num_envs, m))
    shrink = (start - end) / max(epochs - 1, 1)
    return NearMiss(jnp.float32(start), jnp.float32(shrink), jnp.float32(end), nothing, nothing)
