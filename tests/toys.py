"""Toy worlds, each of which needs one skill. Every optimum follows from the formulas.

All have two observations, two actions and two costs, of which most use one, so that they share compiled programs.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from ascpo.engines.functional import Transition


@dataclass(frozen=True)
class OneStep:
    """Episodes of a single step: an action has its reward and its costs, and that is all.

    `kind` names the skill:
    reward     −(a − 0.5)², no cost
    cost       no reward, cost max(a, 0)
    spread     no reward, cost ½ ± s with even chances, s = ½·sigmoid(4a): the mean is ½ whatever the action
    infeasible reward −(u − 1)², cost max(u, 0), u = a + 1: the first policy violates, where the reward is best
    two        reward −(a₀ − 1)² − (a₁ − 1)², costs max(a₀, 0) and max(a₁, 0)
    """

    kind: str
    observation_size: int = 2
    action_size: int = 2
    cost_names: tuple[str, ...] = ("left", "right")

    def begin(self, key):
        return jnp.zeros(())

    def observe(self, state):
        return jnp.ones(2)

    def step(self, state, action, key):
        a = action[0]
        reward, cost = jnp.zeros(()), jnp.zeros(())
        other = jnp.zeros(())
        match self.kind:
            case "reward":
                reward = -((a - 0.5) ** 2)
            case "cost":
                cost = jnp.maximum(a, 0.0)
            case "spread":
                sign = jnp.where(jax.random.bernoulli(key), 1.0, -1.0)
                cost = 0.5 + sign * 0.5 * jax.nn.sigmoid(4 * a)
            case "infeasible":
                u = a + 1.0
                reward, cost = -((u - 1.0) ** 2), jnp.maximum(u, 0.0)
            case "two":
                reward = -jnp.sum((action - 1.0) ** 2)
                cost, other = jnp.maximum(action, 0.0)
        return Transition(state, reward, jnp.stack([cost, other]), jnp.ones((), bool), jnp.zeros((), bool))


@dataclass(frozen=True)
class Corridor:
    """Walk along a line from 0 for `length` steps. The reward is the distance moved, the cost the distance beyond 1."""

    length: int = 10
    observation_size: int = 2
    action_size: int = 2
    cost_names: tuple[str, ...] = ("beyond", "nothing")

    def begin(self, key):
        return jnp.zeros(()), jnp.zeros((), jnp.int32)

    def observe(self, state):
        x, t = state
        return jnp.stack([x, t / self.length])

    def step(self, state, action, key):
        x, t = state
        moved = 0.3 * jnp.clip(action[0], -1.0, 1.0)
        cost = jnp.stack([jnp.maximum(x + moved - 1.0, 0.0), jnp.zeros(())])
        late = t + 1 >= self.length
        return Transition((x + moved, t + 1), moved, cost, jnp.zeros((), bool), late)
