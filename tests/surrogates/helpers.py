"""Evidence made by hand."""

import jax.numpy as jnp

from ascpo.experience.episodes import EpisodeStatistics
from ascpo.surrogates.evidence import Evidence


def statistics(m=None, **given):
    """Of one episode of length 1 in which nothing happened, but for what is given."""
    given = {name: jnp.asarray(value, jnp.float32) for name, value in given.items()}
    m = m or max((len(value) for value in given.values() if value.ndim == 1), default=1)
    one, nothing, nothings = jnp.ones(()), jnp.zeros(()), jnp.zeros(m)
    plain = {
        "finished": jnp.array(1),
        "count": one,
        "reward": nothing,
        "cost": nothings,
        "max_cost": nothings,
        "max_cost_squared": nothings,
        "length": one,
        "violation_rates": nothings,
        "violation_rate": nothing,
        "timeout_rate": nothing,
        "quantiles": jnp.tile(nothings, (5, 1)),
    }
    finished = {"finished": given["finished"].astype(int)} if "finished" in given else {}
    return EpisodeStatistics(**(plain | given | finished))


def evidence(cost_advantage, *, advantage=None, cost=None, count=1.0, length=1.0, cost_tail=None):
    """Of steps with these advantages, in so many episodes of this mean cost and length."""
    A = jnp.asarray(cost_advantage, jnp.float32)
    m = A.shape[-1]
    cost = jnp.zeros(m) if cost is None else cost
    of_reward = jnp.zeros(A.shape[:2]) if advantage is None else jnp.asarray(advantage, jnp.float32)
    return Evidence(of_reward, A, A, statistics(m, cost=cost, count=count, length=length), cost_tail=cost_tail)
