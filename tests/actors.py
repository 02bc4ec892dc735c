"""Actors made of functions, for tests of whatever policies act in."""

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from ascpo.engines.actor import Decision


@dataclass(frozen=True)
class ToyActor:
    """Acts by `act` of (parameters, observation, noise), and remembers the running maxima of so many costs."""

    act: Callable
    maxima: int = 0
    shield: Callable | None = None
    """(parameters, observation, action) → the action that is taken instead."""

    @property
    def shielded(self):
        return self.shield is not None

    def initial(self):
        return jnp.zeros(self.maxima)

    def decide(self, theta, observation, noise):
        drawn = self.act(theta, observation, noise)
        return Decision(drawn, drawn if self.shield is None else self.shield(theta, observation, drawn))

    def remember(self, augmentation, costs, signed):
        return jnp.maximum(augmentation, costs) if self.maxima else augmentation


def running_maxima(cost, done):
    """The largest costs of an episode before and after each step, from [time, env, m] and [time, env]."""
    before, after, now = [], [], np.zeros_like(cost[0])
    for costs, over in zip(cost, done, strict=True):
        before.append(now)
        after.append(np.maximum(now, costs))
        now = np.where(over[:, None], 0.0, after[-1])
    return np.array(before), np.array(after)
