"""A package for the process of another Python, with an environment whose steps return six values. It needs NumPy."""

import os
from types import SimpleNamespace

import numpy as np


class Line:
    """A point on a line that may not go beyond 1."""

    action_space = SimpleNamespace(low=np.array([-1.0]), high=np.array([2.0]))
    observation_space = SimpleNamespace(shape=(2,))
    spec = SimpleNamespace(max_episode_steps=8)

    def reset(self, *, seed):
        self.place, self.steps = np.random.default_rng(seed).uniform(), 0
        return self._observation(), {}

    def step(self, action):
        print("a package that is not silent")
        if action[0] == 2.0:
            os._exit(7)
        self.place, self.steps = self.place + action[0] / 3.0, self.steps + 1
        cost = max(0.0, self.place - 1.0)
        return self._observation(), action[0] / 3.0, cost, self.place < -1.0, self.steps == 8, {}

    def _observation(self):
        return np.array([self.place, np.pi])


def make(name):
    return {"Line-v0": Line}[name]()
