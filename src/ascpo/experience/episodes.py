"""Episodes: their sums and maxima, over the borders of rollouts, and what the finished ones say."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ascpo.choices import LimitKind
from ascpo.engines.contract import Rollout
from ascpo.experience.scans import accumulate
from ascpo.guard.layout import AnyArray


def over_limit(cost: Float[AnyArray, "*axes m"], limits: Float[AnyArray, " m"]) -> Bool[AnyArray, "*axes m"]:
    """Where a cost is over its limit. What is not a number keeps no limit: `cost > limits` would call it safe."""
    return ~(cost <= limits)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EpisodeTotals:
    """Sums and maxima of an episode so far."""

    reward: Float[Array, "*axes"]
    cost: Float[Array, "*axes m"]
    max_cost: Float[Array, "*axes m"]
    """The largest cost of any state."""
    length: Int[Array, "*axes"]

    def limited(self, kind: LimitKind) -> Float[Array, "*axes m"]:
        """What limits of a kind bound."""
        return self.max_cost if kind == "state" else self.cost


def no_totals(num_envs: int, m: int) -> EpisodeTotals:
    """Totals of episodes about to begin."""
    return EpisodeTotals(
        jnp.zeros(num_envs), jnp.zeros((num_envs, m)), jnp.zeros((num_envs, m)), jnp.zeros(num_envs, jnp.int32)
    )


def accumulate_totals(running: EpisodeTotals, rollout: Rollout) -> tuple[EpisodeTotals, EpisodeTotals]:
    """(totals of the episodes now running, totals after every step), from those running when the rollout began."""
    each = EpisodeTotals(
        rollout.reward, rollout.cost, rollout.cost, length=jnp.ones_like(rollout.done, dtype=jnp.int32)
    )
    _, after, still_running = accumulate(_join_totals, each, rollout.done, running)
    return still_running, after


def _join_totals(a: EpisodeTotals, b: EpisodeTotals) -> EpisodeTotals:
    return EpisodeTotals(a.reward + b.reward, a.cost + b.cost, jnp.maximum(a.max_cost, b.max_cost), a.length + b.length)


LEVELS = (50, 75, 90, 95, 99)
"""Percents of the episodes whose largest cost is at most the quantile."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EpisodeStatistics:
    """What the episodes that finished within a rollout say. Where none did, the running ones stand in for them."""

    finished: Int[AnyArray, "*runs"]
    count: Float[AnyArray, "*runs"]
    """N: of the episodes averaged over, never zero."""
    reward: Float[AnyArray, "*runs"]
    cost: Float[AnyArray, "*runs m"]
    max_cost: Float[AnyArray, "*runs m"]
    """Mean of the episodes' largest costs."""
    max_cost_squared: Float[AnyArray, "*runs m"]
    """Mean of their squares."""
    length: Float[AnyArray, "*runs"]
    violation_rates: Float[AnyArray, "*runs m"]
    """Share of episodes in which each cost went over its limit."""
    violation_rate: Float[AnyArray, "*runs"]
    """Share of episodes in which some cost did."""
    timeout_rate: Float[AnyArray, "*runs"]
    """Share of episodes that the time limit ended."""
    quantiles: Float[AnyArray, "*runs levels m"]
    """Of the largest costs, at `LEVELS`."""

    @property
    def variance(self) -> Float[AnyArray, "*runs m"]:
        return jnp.maximum(self.max_cost_squared - self.max_cost**2, 0.0)


def episode_statistics(
    totals: EpisodeTotals,
    running: EpisodeTotals,
    done: Bool[Array, "time env"],
    truncated: Bool[Array, "time env"],
    limits: Float[Array, " m"],
    kind: LimitKind = "state",
    fresh: Bool[Array, "time env"] | None = None,
) -> EpisodeStatistics:
    """Episodes in scenes that are played again do not count; None for `fresh` if there are none."""
    standing_in, instead = jnp.ones(done.shape[1], bool), done.shape[1]
    if fresh is not None:
        done, truncated = done & fresh, truncated & fresh
        standing_in = fresh[-1] | ~jnp.any(fresh[-1])
        instead = jnp.sum(standing_in)
    finished = jnp.sum(done)
    some = finished > 0
    count = jnp.where(some, finished, instead).astype(jnp.float32)

    def mean(of_step: Float[Array, "time env *m"], of_running: Float[Array, "env *m"]) -> Float[Array, "*m"]:
        mask = done.reshape(done.shape + (1,) * (of_step.ndim - 2))
        if fresh is not None:
            of_running = jnp.where(standing_in.reshape(-1, *(1,) * (of_running.ndim - 1)), of_running, 0.0)
        total = jnp.where(some, jnp.sum(jnp.where(mask, of_step, 0.0), axis=(0, 1)), jnp.sum(of_running, axis=0))
        return total / count

    over, running_over = (over_limit(each.limited(kind), limits) for each in (totals, running))

    def share(which: Bool[Array, "time env *m"], of_running: Bool[Array, "env *m"]) -> Float[Array, "*m"]:
        return mean(which.astype(jnp.float32), of_running.astype(jnp.float32))

    return EpisodeStatistics(
        finished=finished,
        count=count,
        reward=mean(totals.reward, running.reward),
        cost=mean(totals.cost, running.cost),
        max_cost=mean(totals.max_cost, running.max_cost),
        max_cost_squared=mean(totals.max_cost**2, running.max_cost**2),
        length=mean(totals.length.astype(jnp.float32), running.length.astype(jnp.float32)),
        violation_rates=share(over, running_over),
        violation_rate=share(jnp.any(over, axis=-1), jnp.any(running_over, axis=-1)),
        timeout_rate=share(truncated, jnp.zeros(done.shape[1], bool)),
        quantiles=jnp.where(
            some,
            _quantiles(totals.max_cost, done, finished),
            _quantiles(running.max_cost[None], standing_in[None], instead),
        ),
    )


def _quantiles(
    max_cost: Float[Array, "time env m"], which: Bool[Array, "time env"], count: Int[Array, ""] | int
) -> Float[Array, "levels m"]:
    """The smallest value that the share of the level does not exceed: always one that occurred."""
    ordered = jnp.sort(jnp.where(which[..., None], max_cost, jnp.inf).reshape(-1, max_cost.shape[-1]), axis=0)
    place = jnp.ceil(jnp.array(LEVELS) / 100 * count).astype(jnp.int32) - 1
    return ordered[jnp.maximum(place, 0)]
