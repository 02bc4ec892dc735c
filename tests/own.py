"""Environments as users write them, small and with faults on purpose."""

import gymnasium
import numpy as np


class Cart(gymnasium.Env):
    """Push a point along a line. The reward is the distance moved, the cost the distance beyond 1. Twenty steps."""

    def __init__(self):
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.action_space = gymnasium.spaces.Box(-2.0, 2.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.t = float(self.np_random.uniform(-0.1, 0.1)), 0
        return self._seen(), {}

    def step(self, action):
        self.t += 1
        moved = 0.1 * float(action[0]) + 0.01 * self.np_random.normal()
        self.x += moved
        return self._seen(), moved, False, self.t >= 20, {"cost": max(0.0, self.x - 1.0)}

    def _seen(self):
        return np.array([self.x, self.t / 20], np.float32)


def make():
    return Cart()


gymnasium.register("tests/Cart-v0", Cart)


class Ditch(Cart):
    """Five steps; where the point begins decides whether it costs anything: in half of the scenes it does."""

    def step(self, action):
        observation, reward, _, _, _ = super().step(0.1 * action)
        return observation, reward, False, self.t >= 5, {"cost": max(0.0, self.x)}


gymnasium.register("tests/Ditch-v0", Ditch)


class WithNaN(Cart):
    """Its reward is NaN in step 130 of its life, later than any checker looks."""

    lives = 0

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        self.lives += 1
        return observation, float("nan") if self.lives == 130 else reward, terminated, truncated, info


class WithoutCost(Cart):
    def step(self, action):
        *rest, _ = super().step(action)
        return *rest, {}
