"""The evidence that a rollout gives about its policy, and the protocol of constraints, which are functions of it."""

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.experience.cvar import CostTail
from ascpo.experience.episodes import EpisodeStatistics
from ascpo.experience.scene_replay import StepWeights
from ascpo.experience.trend import EpisodeTrend
from ascpo.surrogates.weights import Weights


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Evidence:
    """Advantages of every step, and statistics of the episodes."""

    advantage: Float[Array, "time env"]
    """Advantage of the reward, with mean 0 and standard deviation 1."""
    cost_advantage: Float[Array, "time env k"]
    """Advantage of each cost signal, with mean 0."""
    cost_td_error: Float[Array, "time env k"]
    """δ of each cost critic, not centred."""
    episodes: EpisodeStatistics
    """Statistics of this epoch. `count` is the number of episodes that its steps amount to."""
    cost_to_go: Float[Array, "time env k"] | None = None
    """The observed cost after each step. None if the algorithm does not use it."""
    cost_signal: Float[Array, "time env k"] | None = None
    """The cost signals of each step. None if the algorithm does not use them."""
    cost_tail: CostTail | None = None
    """The upper tail of the episodes' costs. None if the algorithm does not use it."""
    trend: EpisodeTrend | None = None
    """Statistics of this and the last epochs. None for algorithms without cost critics."""
    step_weights: StepWeights | None = None
    """The weight of every step, if scenes are replayed. None if all weights are 1."""

    def of_last_epochs(self) -> "Evidence":
        """The same evidence, with episode statistics over the last epochs instead of this one."""
        if self.trend is None:
            raise ValueError("There is no trend of the episodes: costs that are constrained or penalised have one.")
        trend, sums = self.trend, self.trend.sums
        episodes = replace(
            self.episodes,
            cost=trend.mean(sums.cost),
            max_cost=trend.mean(sums.max_cost),
            max_cost_squared=trend.mean(sums.max_cost_squared),
            length=trend.length,
            violation_rates=trend.violation_rates,
            timeout_rate=trend.timeout_rate,
        )
        tail = self.cost_tail
        if tail is not None:
            tail = CostTail(trend.nu, trend.mean(sums.excess), tail.quantile)
        return replace(self, episodes=episodes, cost_tail=tail)

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
        """c: the bounded quantity minus its limit."""
        ...

    def relative_excess(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        """(quantity − limit) / limit, or ∞ for a limit of zero."""
        ...


def relative(quantity: Float[Array, " m"], limits: Float[Array, " m"]) -> Float[Array, " m"]:
    """(quantity − limit) / limit, or ∞ for a limit that is not above zero."""
    positive = limits > 0.0
    return jnp.where(positive, quantity / jnp.where(positive, limits, 1.0) - 1.0, jnp.inf)


def centred(
    advantage: Float[Array, "time env *k"], weight: Float[Array, "time env"] | None = None
) -> Float[Array, "time env *k"]:
    """The advantage minus its weighted mean."""
    if weight is None:
        return advantage - jnp.mean(advantage, axis=(0, 1))
    return advantage - jnp.tensordot(weight, advantage, axes=2) / jnp.sum(weight)


def normalised(
    advantage: Float[Array, "time env"], weight: Float[Array, "time env"] | None = None
) -> Float[Array, "time env"]:
    """The advantage with weighted mean 0 and standard deviation 1. All zeros if it is constant."""
    middle = centred(advantage, weight)
    spread = jnp.std(advantage) if weight is None else jnp.sqrt(jnp.sum(weight * middle**2) / jnp.sum(weight))
    return jnp.where(spread > 1e-8, middle / jnp.maximum(spread, 1e-8), 0.0)
