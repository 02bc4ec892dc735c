"""Fresh episodes: the first one of each of many environments, so that long episodes count as often as short ones."""

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Bool, Float

from ascpo.engines.rollout import Actor, Engine, Rollout
from ascpo.guard.layout import AnyArray


@dataclass(frozen=True)
class FreshEpisodes:
    """One whole episode per environment."""

    reward: Float[np.ndarray, " env"]
    cost: Float[np.ndarray, "env m"]
    maximum: Float[np.ndarray, "env m"]
    length: Float[np.ndarray, " env"]
    time_limited: Bool[np.ndarray, " env"]

    def summary(self, limits: tuple[float, ...]) -> dict[str, float]:
        """Under the names of the log."""
        within = (self.maximum <= np.array(limits)).all(axis=1)
        return {
            "Episodes": len(self.reward),
            "EpRet": float(self.reward.mean()),
            "EpCost": float(self.cost.sum(axis=1).mean()),
            "EpMaxCost": float(self.maximum.mean(axis=0).max()),
            "EpMaxCost95": float(np.quantile(self.maximum.max(axis=1), 0.95)),
            "EpMaxCostWorst": float(self.maximum.max()),
            "SafeRate": float(within.mean()),
            "TimeoutRate": float(self.time_limited.mean()),
            "EpLen": float(self.length.mean()),
            "CostRate": float(self.cost.sum() / self.length.sum()),
        }


def fresh_episodes(
    engine: Engine,
    actor: Actor,
    theta: Float[AnyArray, " p"],
    seed: int,
    *,
    episodes: int | None = None,
    mean_action: bool = False,
) -> FreshEpisodes:
    """Play the first episode of every environment to its end, however it ends, and again with the seeds that follow
    until there are as many episodes as asked for."""
    wanted = engine.num_envs if episodes is None else episodes
    rounds = [_round(engine, actor, theta, seed + first, mean_action) for first in range(0, wanted, engine.num_envs)]
    every = jax.tree.map(lambda *parts: np.concatenate(parts)[:wanted], *(vars(one) for one in rounds))
    return FreshEpisodes(**every)


def _round(
    engine: Engine, actor: Actor, theta: Float[AnyArray, " p"], seed: int, mean_action: bool, chunk: int = 50
) -> FreshEpisodes:
    engine.begin(actor, seed)
    rng = np.random.default_rng(seed)
    envs = engine.num_envs
    ended = np.zeros(envs, bool)
    reward, length = np.zeros(envs), np.zeros(envs)
    cost, maximum = np.zeros((envs, len(engine.cost_names))), np.zeros((envs, len(engine.cost_names)))
    time_limited = np.zeros(envs, bool)
    while not ended.all():
        noise = rng.standard_normal((chunk, envs, engine.action_size)).astype(np.float32)
        rollout: Rollout = jax.tree.map(
            np.asarray, engine.collect(theta, np.zeros_like(noise) if mean_action else noise)
        )
        for t in range(chunk):
            live = ~ended
            reward += live * rollout.reward[t]
            cost += live[:, None] * rollout.cost[t]
            maximum = np.where(live[:, None], np.maximum(maximum, rollout.cost[t]), maximum)
            length += live
            time_limited |= live & np.asarray(rollout.truncated[t])
            ended |= np.asarray(rollout.done[t])
    return FreshEpisodes(reward, cost, maximum, length, time_limited)
