"""Near misses: while it learns, a training sees costs that begin before they do.

Violations are rare, and the gradient of something rare is mostly noise. Where an environment says how near its costs
are (`Rollout.signed_cost`, C̃), learning may see

    Cₜ' = max(C̃ₜ + h, 0)

in place of the cost: as if every forbidden region reached h further. All that is learned from costs, the running maxima
among it, is made from C'; all that is measured, logged, held at a limit by feedback and certified is made from the cost
itself. h shrinks in equal steps from its first value to its last one, while the policy learns to keep away.

An episode during which h shrinks keeps the maxima and sums that it has.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ascpo.experience.augmentation import running_maximum, running_sum


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NearMiss:
    """h now, and what running episodes have cost with it."""

    h: Float[Array, ""]
    shrink: Float[Array, ""]
    """By how much h falls after every epoch."""
    end: Float[Array, ""]
    """The least that h falls to."""
    max_cost: Float[Array, "env m"]
    """The largest C' of the running episodes."""
    cost: Float[Array, "env m"]
    """Their sums of C'."""

    def seen(self, signed_cost: Float[Array, "time env m"]) -> Float[Array, "time env m"]:
        """C'."""
        return jnp.maximum(signed_cost + self.h, 0.0)

    def maxima(
        self, seen: Float[Array, "time env m"], done: Bool[Array, "time env"]
    ) -> tuple[Float[Array, "time env m"], Float[Array, "time env m"]]:
        return running_maximum(seen, done, self.max_cost)

    def sums(
        self, seen: Float[Array, "time env m"], done: Bool[Array, "time env"]
    ) -> tuple[Float[Array, "time env m"], Float[Array, "time env m"]]:
        return running_sum(seen, done, self.cost)

    def after(
        self, max_cost: Float[Array, "env m"], cost: Float[Array, "env m"], done: Bool[Array, " env"]
    ) -> "NearMiss":
        """After an epoch whose last steps left these maxima and sums."""
        over = done[:, None]
        h = jnp.maximum(self.h - self.shrink, self.end)
        return replace(self, h=h, max_cost=jnp.where(over, 0.0, max_cost), cost=jnp.where(over, 0.0, cost))

    def cut(self) -> "NearMiss":
        """After all episodes have been cut."""
        return replace(self, max_cost=jnp.zeros_like(self.max_cost), cost=jnp.zeros_like(self.cost))


def begin_near_miss(start: float, end: float, epochs: int, num_envs: int, m: int) -> NearMiss:
    """Before the first of so many epochs."""
    nothing = jnp.zeros((num_envs, m))
    shrink = (start - end) / max(epochs - 1, 1)
    return NearMiss(jnp.float32(start), jnp.float32(shrink), jnp.float32(end), nothing, nothing)
