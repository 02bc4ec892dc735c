"""An inverted pendulum on a motor, with two limits: how to write an environment to train on.

The pendulum is to follow a target angle that jumps now and then. Some targets lie beyond the angle that is allowed,
and the motor is stronger than its gears: an eager policy breaks both limits.

    ascpo check examples.pendulum:make
    ascpo train --env examples.pendulum:make --num-envs 16 --horizon 250 --total-steps 400e3
"""

import math
from typing import Any

import gymnasium
import numpy as np

DT = 0.05
"""Seconds of a step."""
GRAVITY = 1.0
"""The weight's pull, per sine of the angle; the moment of inertia is 1, too."""
MOTOR = 2.5
"""The strongest torque, in newton metres."""
LAG = 0.1
"""Seconds by which the torque is behind what is asked for."""
TARGETS = 0.7
"""The farthest target, in radians from upright."""
MAX_ANGLE, MAX_TORQUE = 0.6, 2.0
"""The two limits."""


class Pendulum(gymnasium.Env[np.ndarray, np.ndarray]):
    """One pendulum. Angles are from upright."""

    cost_names = ("angle", "torque")

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        self.action_space = gymnasium.spaces.Box(-MOTOR, MOTOR, (1,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)  # All that is random comes from self.np_random, so that episodes can be repeated.
        self.angle, self.speed, self.torque = self.np_random.uniform(-0.1, 0.1), 0.0, 0.0
        self.target = self.np_random.uniform(-TARGETS, TARGETS)
        return self._observation(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.torque += DT / LAG * (float(action[0]) - self.torque)
        self.speed += DT * (GRAVITY * math.sin(self.angle) + self.torque - 0.5 * self.speed)
        self.angle += DT * self.speed
        if abs(self.angle) > 1.5:  # There is a stop.
            self.angle, self.speed = math.copysign(1.5, self.angle), 0.0
        reward = 1.0 - abs(self.target - self.angle)
        # How far beyond each limit: 0 while all is well, so that 0 is the limit to train with.
        costs = np.array([max(0.0, abs(self.angle) - MAX_ANGLE), max(0.0, abs(self.torque) - MAX_TORQUE)])
        if self.np_random.random() < 0.02:
            self.target = self.np_random.uniform(-TARGETS, TARGETS)
        return self._observation(), reward, False, False, {"costs": costs, "cost": costs.sum()}

    def _observation(self) -> np.ndarray:
        return np.array([self.angle, self.speed, self.torque, self.target - self.angle], np.float32)


def make() -> gymnasium.Env[np.ndarray, np.ndarray]:
    """A pendulum whose episodes end after five seconds."""
    return gymnasium.wrappers.TimeLimit(Pendulum(), max_episode_steps=100)
