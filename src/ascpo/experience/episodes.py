"""Episodes: sums and maxima across rollouts, and statistics of the finished ones."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ascpo.choices import LimitKind
from ascpo.engines.contract import Rollout
from ascpo.experience.axes import aligned
from ascpo.experience.scans import accumulate
from ascpo.guard.layout import AnyArray


def over_limit(cost: Float[AnyArray, "*axes m"], limits: Float[AnyArray, " m"]) -> Bool[AnyArray, "*axes m"]:
    """Where a cost is over its limit. NaN counts as over the limit, which `cost > limits` would not see.

    Costs are 32-bit floats, and limits are compared as such: 0.1 does not violate a limit of 0.1, though the 32-bit
    float nearest to 0.1 is larger than the 64-bit one.
    """
    return ~(cost.astype(np.float32) <= limits.astype(np.float32))


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
        """The quantity that limits of this kind bound."""
        return self.max_cost if kind == "state" else self.cost


def no_totals(num_envs: int, m: int) -> EpisodeTotals:
    """Totals at the start of episodes."""
    return EpisodeTotals(
        jnp.zeros(num_envs), jnp.zeros((num_envs, m)), jnp.zeros((num_envs, m)), jnp.zeros(num_envs, jnp.int32)
    )


def accumulate_totals(running: EpisodeTotals, rollout: Rollout) -> tuple[EpisodeTotals, EpisodeTotals]:
    """(totals of the episodes that still run, totals after every step). `running` are those before the rollout."""
    each = EpisodeTotals(
        rollout.reward, rollout.cost, rollout.cost, length=jnp.ones_like(rollout.done, dtype=jnp.int32)
    )
    _, after, still_running = accumulate(_join_totals, each, rollout.done, running)
    return still_running, after


def _join_totals(a: EpisodeTotals, b: EpisodeTotals) -> EpisodeTotals:
    return EpisodeTotals(a.reward + b.reward, a.cost + b.cost, jnp.maximum(a.max_cost, b.max_cost), a.length + b.length)


LEVELS = (50, 75, 90, 95, 99)
"""Quantiles of the largest cost, in percent of the episodes."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EpisodeStatistics:
    """Statistics of the episodes that finished within a rollout, or of the running ones if none did."""

    finished: Int[AnyArray, "*runs"]
    count: Float[AnyArray, "*runs"]
    """N: the number of episodes in the averages, never zero."""
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
    """Share of episodes in which at least one cost went over its limit."""
    timeout_rate: Float[AnyArray, "*runs"]
    """Share of episodes that the time limit ended."""
    quantiles: Float[AnyArray, "*runs levels m"]
    """Quantiles of the episodes' largest costs, at `LEVELS`."""

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
    """The statistics, without episodes in replayed scenes. `fresh` is None if no scene is replayed.

    If no episode finished, the running ones stand in for them.
    """
    stand_ins, stand_in_count = jnp.ones(done.shape[1], bool), done.shape[1]
    if fresh is not None:
        done, truncated = done & fresh, truncated & fresh
        stand_ins = fresh[-1] | ~jnp.any(fresh[-1])
        stand_in_count = jnp.sum(stand_ins)
    finished = jnp.sum(done)
    some = finished > 0
    count = jnp.where(some, finished, stand_in_count).astype(jnp.float32)

    def mean(of_step: Float[Array, "time env *m"], of_running: Float[Array, "env *m"]) -> Float[Array, "*m"]:
        if fresh is not None:
            of_running = jnp.where(aligned(stand_ins, of_running), of_running, 0.0)
        of_finished = jnp.where(aligned(done, of_step), of_step, 0.0)
        return jnp.where(some, jnp.sum(of_finished, axis=(0, 1)), jnp.sum(of_running, axis=0)) / count

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
            _quantiles(running.max_cost[None], stand_ins[None], stand_in_count),
        ),
    )


def _quantiles(
    max_cost: Float[Array, "time env m"], which: Bool[Array, "time env"], count: Int[Array, ""] | int
) -> Float[Array, "levels m"]:
    """For each level, the smallest observed value that this share of the episodes does not exceed."""
    ordered = jnp.sort(jnp.where(which[..., None], max_cost, jnp.inf).reshape(-1, max_cost.shape[-1]), axis=0)
    place = jnp.ceil(jnp.array(LEVELS) / 100 * count).astype(jnp.int32) - 1
    return ordered[jnp.maximum(place, 0)]
