"""Worlds of JAX functions as users write them, small and with faults on purpose."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp

import ascpo


@dataclass(frozen=True)
class Slope:
    """Push a point along a line that amplifies every rounding; the way made is the reward, the cost how far it is."""

    observation_size = 2
    action_size = 1
    cost_names = ("beyond",)
    action_bounds = ((-2.0,), (2.0,))
    max_episode_steps = 12

    def begin(self, key):
        return {"x": jax.random.uniform(key, (), minval=0.1, maxval=0.9), "v": jnp.zeros(())}

    def observe(self, state):
        return jnp.stack([jnp.tanh(state["x"]), state["v"]])

    def step(self, state, action, key):
        v = 0.5 * state["v"] + 0.3 * jnp.sin(7.0 * state["x"]) + 0.1 * action[0] + 0.1 * jax.random.normal(key)
        x = state["x"] + v
        over = jnp.maximum(jnp.abs(x) - 1.0, 0.0)
        never = jnp.zeros((), bool)
        return ascpo.Transition({"x": x, "v": v}, v, over[None], jnp.abs(x) > 2.0, never)


class Breaking(Slope):
    """Its simulation breaks down where the point is beyond 1: no cost says so."""

    def step(self, state, action, key):
        moved = super().step(state, action, key)
        x = jnp.where(moved.costs[0] > 0.0, jnp.nan, moved.state["x"])
        return replace(moved, state={**moved.state, "x": x}, costs=jnp.zeros(1), terminated=jnp.zeros((), bool))


class Earning(Breaking):
    """Every step has a negative cost until the simulation breaks down."""

    def step(self, state, action, key):
        return replace(super().step(state, action, key), costs=-jnp.ones(1))


class WithoutNames(Slope):
    cost_names = ()


class WithTwoCosts(Slope):
    def step(self, state, action, key):
        return replace(super().step(state, action, key), costs=jnp.zeros(2))


class Growing(Slope):
    """Its step forgets the speed."""

    def step(self, state, action, key):
        moved = super().step(state, action, key)
        return replace(moved, state={"x": moved.state["x"]})


class Failing(Slope):
    def step(self, state, action, key):
        raise RuntimeError("the slope is closed")


class Tuples(Slope):
    def step(self, state, action, key):
        return tuple(vars(super().step(state, action, key)).values())


class WideBounds(Slope):
    action_bounds = ((-2.0, -2.0), (2.0, 2.0))


class Half:
    """A world that lacks most of the required functions."""

    observation_size = 2

    def begin(self, key): ...


class Unhashable(Slope):
    """As a dataclass that is not frozen."""

    __hash__ = None


class Endless(Slope):
    max_episode_steps = None
    action_bounds = None


def slope():
    return Slope()
