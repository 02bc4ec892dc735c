"""Toy worlds, one skill each. Every optimum can be read off the formulas."""

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
    observation_size: int = 1

    @property
    def action_size(self):
        return 2 if self.kind == "two" else 1

    @property
    def cost_names(self):
        return ("left", "right") if self.kind == "two" else ("cost",)

    def begin(self, key):
        return jnp.zeros(())

    def observe(self, state):
        return jnp.ones(1)

    def step(self, state, action, key):
        a = action[0]
        nothing = jnp.zeros(())
        match self.kind:
            case "reward":
                reward, costs = -((a - 0.5) ** 2), [nothing]
            case "cost":
                reward, costs = nothing, [jnp.maximum(a, 0.0)]
            case "spread":
                sign = jnp.where(jax.random.bernoulli(key), 1.0, -1.0)
                reward, costs = nothing, [0.5 + sign * 0.5 * jax.nn.sigmoid(4 * a)]
            case "infeasible":
                u = a + 1.0
                reward, costs = -((u - 1.0) ** 2), [jnp.maximum(u, 0.0)]
            case "two":
                reward, costs = -jnp.sum((action - 1.0) ** 2), [*jnp.maximum(action, 0.0)]
        return Transition(state, reward, jnp.stack(costs), jnp.ones((), bool), jnp.zeros((), bool))


@dataclass(frozen=True)
class Corridor:
    """Walk along a line from 0 for `length` steps; the reward is the way made, the cost how far beyond 1 one is."""

    length: int = 10
    observation_size: int = 2
    action_size: int = 1
    cost_names: tuple[str, ...] = ("beyond",)

    def begin(self, key):
        return jnp.zeros(()), jnp.zeros((), jnp.int32)

    def observe(self, state):
        x, t = state
        return jnp.stack([x, t / self.length])

    def step(self, state, action, key):
        x, t = state
        moved = 0.3 * jnp.clip(action[0], -1.0, 1.0)
        cost = jnp.maximum(x + moved - 1.0, 0.0)[None]
        late = t + 1 >= self.length
        return Transition((x + moved, t + 1), moved, cost, jnp.zeros((), bool), late)
