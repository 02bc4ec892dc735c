"""Conditional value at risk: the mean cost of the worst episodes.

    CVaR_α(Z) = min over ν of ν + E[(Z − ν)₊] / (1 − α)

Z is the cost of an episode, and the optimal ν its α-quantile (the value at risk). (Z − ν)₊ is a sum over the steps of
an episode: with Zₜ the cost so far, a step adds (Zₜ₊₁ − ν)₊ − (Zₜ − ν)₊. These add up only if ν is the same in all
steps, so an episode keeps the ν with which it started.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CostTail:
    """The upper tail of the episodes' costs, for each constraint."""

    nu: Float[Array, " m"]
    """The mean of the episodes' ν."""
    excess: Float[Array, " m"]
    """E[(Z − ν)₊]."""
    quantile: Float[Array, " m"]
    """The α-quantile of the episodes' costs, or ν if no episode finished."""

    def cvar(self, alpha: float) -> Float[Array, " m"]:
        return self.nu + self.excess / (1.0 - alpha)


def nu_of_episodes(
    done: Bool[Array, "time env"], running: Float[Array, "env m"], now: Float[Array, " m"]
) -> tuple[Float[Array, "time env m"], Float[Array, "env m"]]:
    """ν of every step, and of the episodes that still run. `running` is ν of the first episodes, `now` of later
    ones."""
    ended = jnp.cumsum(done, axis=0) > 0
    begun = jnp.concatenate([jnp.zeros_like(ended[:1]), ended[:-1]])
    return jnp.where(begun[..., None], now, running), jnp.where(ended[-1][:, None], now, running)


def cost_tail(
    Z: Float[Array, "time env m"], done: Bool[Array, "time env"], nu: Float[Array, "*steps m"], alpha: float
) -> CostTail:
    """The tail of the finished episodes' costs. Z is the cost so far after every step, and ν is given for every step,
    or once for all."""
    nu = jnp.broadcast_to(nu, Z.shape)
    N = jnp.sum(done)
    ended = done[..., None]

    def mean(x: Float[Array, "time env m"]) -> Float[Array, " m"]:
        return jnp.sum(jnp.where(ended, x, 0.0), axis=(0, 1)) / jnp.maximum(N, 1)

    typical = jnp.where(N > 0, mean(nu), jnp.mean(nu, axis=(0, 1)))
    in_order = jnp.sort(jnp.where(ended, Z, jnp.inf).reshape(-1, Z.shape[-1]), axis=0)
    # The smallest cost that a share α of the episodes does not exceed.
    enough = jnp.maximum(jnp.ceil(alpha * N).astype(int) - 1, 0)
    return CostTail(typical, mean(jnp.maximum(Z - nu, 0.0)), quantile=jnp.where(N > 0, in_order[enough], typical))
