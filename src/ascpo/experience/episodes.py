"""Episodes: their sums and maxima, over the borders of rollouts, and what the finished ones say."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ascpo.engines.rollout import Rollout
from ascpo.experience.scans import accumulate


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Totals:
    """Of an episode so far."""

    reward: Float[Array, "*axes"]
    cost: Float[Array, "*axes m"]
    maximum: Float[Array, "*axes m"]
    """The largest cost of any state."""
    length: Int[Array, "*axes"]


def none_yet(num_envs: int, m: int) -> Totals:
    """Of episodes about to begin."""
    return Totals(
        jnp.zeros(num_envs), jnp.zeros((num_envs, m)), jnp.zeros((num_envs, m)), jnp.zeros(num_envs, jnp.int32)
    )


def follow(running: Totals, rollout: Rollout) -> tuple[Totals, Totals]:
    """(totals of the episodes now running, totals after every step), from those running when the rollout began."""
    each = Totals(rollout.reward, rollout.cost, rollout.cost, length=jnp.ones_like(rollout.done, dtype=jnp.int32))
    _, after, still_running = accumulate(_together, each, rollout.done, running)
    return still_running, after


def _together(a: Totals, b: Totals) -> Totals:
    return Totals(a.reward + b.reward, a.cost + b.cost, jnp.maximum(a.maximum, b.maximum), a.length + b.length)


LEVELS = (50, 75, 90, 95, 99)
"""Percents of the episodes whose largest cost is at most the quantile."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Summary:
    """What the episodes that finished within a rollout say. Where none did, the running ones stand in for them."""

    finished: Int[Array, ""]
    count: Float[Array, ""]
    """N: of the episodes averaged over, never zero."""
    reward: Float[Array, ""]
    cost: Float[Array, " m"]
    maximum: Float[Array, " m"]
    """Mean of the episodes' largest costs."""
    square: Float[Array, " m"]
    """Mean of their squares."""
    length: Float[Array, ""]
    exceeding: Float[Array, " m"]
    """Share of episodes in which each cost went over its limit."""
    violating: Float[Array, ""]
    """Share of episodes in which some cost did."""
    time_limited: Float[Array, ""]
    """Share of episodes that the time limit ended."""
    quantiles: Float[Array, "levels m"]
    """Of the largest costs, at `LEVELS`."""

    @property
    def variance(self) -> Float[Array, " m"]:
        return jnp.maximum(self.square - self.maximum**2, 0.0)


def summarise(
    totals: Totals,
    running: Totals,
    done: Bool[Array, "time env"],
    truncated: Bool[Array, "time env"],
    limits: Float[Array, " m"],
) -> Summary:
    finished = jnp.sum(done)
    some = finished > 0
    count = jnp.where(some, finished, done.shape[1]).astype(jnp.float32)

    def mean(of_step: Float[Array, "time env *m"], of_running: Float[Array, "env *m"]) -> Float[Array, "*m"]:
        mask = done.reshape(done.shape + (1,) * (of_step.ndim - 2))
        total = jnp.where(some, jnp.sum(jnp.where(mask, of_step, 0.0), axis=(0, 1)), jnp.sum(of_running, axis=0))
        return total / count

    def beyond(maximum: Float[Array, "*axes m"]) -> Float[Array, "*axes"]:
        return jnp.any(maximum > limits, axis=-1).astype(jnp.float32)

    return Summary(
        finished=finished,
        count=count,
        reward=mean(totals.reward, running.reward),
        cost=mean(totals.cost, running.cost),
        maximum=mean(totals.maximum, running.maximum),
        square=mean(totals.maximum**2, running.maximum**2),
        length=mean(totals.length.astype(jnp.float32), running.length.astype(jnp.float32)),
        exceeding=mean((totals.maximum > limits).astype(jnp.float32), (running.maximum > limits).astype(jnp.float32)),
        violating=mean(beyond(totals.maximum), beyond(running.maximum)),
        time_limited=mean(truncated.astype(jnp.float32), jnp.zeros(done.shape[1])),
        quantiles=jnp.where(
            some,
            _quantiles(totals.maximum, done, finished),
            _quantiles(running.maximum[None], jnp.ones((1, done.shape[1]), bool), done.shape[1]),
        ),
    )


def _quantiles(
    maximum: Float[Array, "time env m"], which: Bool[Array, "time env"], count: Int[Array, ""] | int
) -> Float[Array, "levels m"]:
    """The smallest value that the share of the level does not exceed: always one that occurred."""
    ordered = jnp.sort(jnp.where(which[..., None], maximum, jnp.inf).reshape(-1, maximum.shape[-1]), axis=0)
    place = jnp.ceil(jnp.array(LEVELS) / 100 * count).astype(jnp.int32) - 1
    return ordered[jnp.maximum(place, 0)]
