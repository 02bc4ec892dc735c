"""An environment of your own: a cart that is to reach a goal without going through a wet patch.

    ascpo check new_env:make
    ascpo train --env new_env:make --num-envs 8 --horizon 250 --total-steps 200e3

Change everything between the marks. What has to stay is the interface of gymnasium.Env, and the costs in `info`.
"""

from typing import Any

import gymnasium
import numpy as np

GOAL, WET = 1.0, (0.3, 0.5)
"""Places on the line, in metres."""


class NewEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """Push a cart along a line, and lift it over the wet patch."""

    cost_names = ("wet",)
    """The names of your constraints. A cost is zero where all is well, and larger the worse it is."""

    def __init__(self) -> None:
        # ---- What the policy sees, and what it may do: two Box spaces. Finite bounds of actions scale them.
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        # ---- Everything random comes from self.np_random: then the same seed gives the same episode.
        super().reset(seed=seed)
        self.x, self.speed, self.height = float(self.np_random.uniform(-0.2, 0.0)), 0.0, 0.0
        return self._observation(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        # ---- The physics.
        before = self.x
        self.speed = 0.9 * self.speed + 0.01 * float(action[0])
        self.x += self.speed
        self.height = float(np.clip(action[1], 0.0, 1.0))
        # ---- The reward of this step, and whether the episode is over. The time limit is below, in `make`.
        reward = (self.x - before) - 0.002 * self.height
        terminated = self.x >= GOAL
        # ---- The cost of this state: how deep the cart is in the water.
        wet = max(0.0, 0.2 - self.height) if WET[0] < self.x < WET[1] else 0.0
        # Costs one by one, in the order of cost_names. With a single one, {"cost": wet} is the same.
        # With info["margins"], below zero while all is well, policies learn from near misses too.
        return self._observation(), reward, terminated, False, {"costs": [wet]}

    def _observation(self) -> np.ndarray:
        return np.array([self.x, self.speed, self.height], np.float32)


def make() -> gymnasium.Env:
    """What `--env` names: a function without arguments. Episodes have at most 250 steps."""
    return gymnasium.wrappers.TimeLimit(NewEnv(), 250)
