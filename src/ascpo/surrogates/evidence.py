"""What a rollout tells about the policy that acted in it, and what a constraint makes of that."""

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.experience.cvar import CostTail
from ascpo.experience.episodes import EpisodeStatistics
from ascpo.experience.trend import EpisodeTrend
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
    """Of this epoch; `count` is the number of episodes that its steps amount to."""
    cost_to_go: Float[Array, "time env k"] | None = None
    """The cost that did follow each step; None where nobody needs it."""
    cost_signal: Float[Array, "time env k"] | None = None
    """What each step adds to the sums that cost critics predict; None where nobody needs it."""
    cost_tail: CostTail | None = None
    """The upper tail of the episodes' costs; None where nobody needs it."""
    trend: EpisodeTrend | None = None
    """What this epoch and those before it measured; None where nobody needs it."""

    def of_last_epochs(self) -> "Evidence":
        """With the means of the last epochs in place of those of this epoch's finished episodes."""
        if self.trend is None:
            raise ValueError("There is no trend of the episodes: costs that are bounded or paid for have one.")
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
        """c: by how much the bounded quantity is over its limit."""
        ...

    def relative_excess(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        """By how much the bounded quantity is over its limit, as a multiple of the limit; ∞ for a limit of zero."""
        ...


def relative(quantity: Float[Array, " m"], limits: Float[Array, " m"]) -> Float[Array, " m"]:
    """(quantity − limit) / limit; ∞ for a limit that is not above zero, which nothing is a multiple of."""
    positive = limits > 0.0
    return jnp.where(positive, quantity / jnp.where(positive, limits, 1.0) - 1.0, jnp.inf)


def centred(advantage: Float[Array, "time env *k"]) -> Float[Array, "time env *k"]:
    return advantage - jnp.mean(advantage, axis=(0, 1))


def normalised(advantage: Float[Array, "time env"]) -> Float[Array, "time env"]:
    """Mean 0 and standard deviation 1; all zeros if all are equal."""
    spread = jnp.std(advantage)
    return jnp.where(spread > 1e-8, centred(advantage) / jnp.maximum(spread, 1e-8), 0.0)
