"""Evidence made by hand."""

import jax.numpy as jnp

from ascpo.experience.episodes import Summary
from ascpo.surrogates.evidence import Evidence


def evidence(cost_advantage, *, advantage=None, cost=None, count=1.0, length=1.0, tail=None):
    """Of steps with these advantages, in so many episodes of this mean cost and length."""
    A = jnp.asarray(cost_advantage, jnp.float32)
    nothing, nothings = jnp.zeros(()), jnp.zeros(A.shape[-1])
    episodes = Summary(
        finished=jnp.array(int(count)),
        count=jnp.array(count),
        reward=nothing,
        cost=nothings if cost is None else jnp.asarray(cost, jnp.float32),
        maximum=nothings,
        square=nothings,
        length=jnp.array(length),
        exceeding=nothings,
        violating=nothing,
        time_limited=nothing,
        quantiles=jnp.tile(nothings, (5, 1)),
    )
    of_reward = jnp.zeros(A.shape[:2]) if advantage is None else jnp.asarray(advantage, jnp.float32)
    return Evidence(of_reward, A, A, episodes, tail=tail)
