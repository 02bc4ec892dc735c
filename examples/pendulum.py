"""An inverted pendulum on a motor, with two limits: how to write an environment to train on.

The pendulum is to follow a target angle that jumps now and then. Some targets lie beyond the angle that is allowed,
and the motor is stronger than its gears: an eager policy breaks both limits.

    ascpo check examples.pendulum:make
    ascpo train --env examples.pendulum:make --num-envs 16 --horizon 250 --total-steps 400e3
"""

import math

import gymnasium
import numpy as np

DT = 0.05
"""Seconds of a step."""
GRAVITY = 3.0
"""What the weight adds to the acceleration, per radian of lean."""
MOTOR = 4.0
"""The strongest torque that can be asked for; the unit of inertia is 1."""
LAG = 0.1
"""Seconds in which the torque follows what is asked for."""
MAX_ANGLE, MAX_TORQUE = 0.5, 2.0
"""The two limits, in radians and newton metres."""


class Pendulum(gymnasium.Env):
    """One pendulum. Angles are from upright."""

    cost_names = ("angle", "torque")

    def __init__(self):
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        self.action_space = gymnasium.spaces.Box(-MOTOR, MOTOR, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)  # All that is random comes from self.np_random: then episodes can be repeated.
        self.angle, self.speed, self.torque = self.np_random.uniform(-0.1, 0.1), 0.0, 0.0
        self.target = self.np_random.uniform(-0.7, 0.7)
        return self._observation(), {}

    def step(self, action):
        self.torque += DT / LAG * (float(action[0]) - self.torque)
        self.speed += DT * (GRAVITY * math.sin(self.angle) + self.torque - 0.5 * self.speed)
        self.angle += DT * self.speed
        if abs(self.angle) > 1.5:  # A stop.
            self.angle, self.speed = math.copysign(1.5, self.angle), 0.0
        if self.np_random.random() < 0.02:
            self.target = self.np_random.uniform(-0.7, 0.7)
        reward = 0.1 * (1.0 - abs(self.angle - self.target))
        # How far beyond each limit: 0 while all is well, so that 0 is the limit to train with.
        costs = np.array([max(0.0, abs(self.angle) - MAX_ANGLE), max(0.0, abs(self.torque) - MAX_TORQUE)])
        return self._observation(), reward, False, False, {"costs": costs, "cost": costs.sum()}

    def _observation(self):
        return np.array([self.angle, self.speed, self.torque, self.target], np.float32)


def make():
    """A pendulum whose episodes end after five seconds."""
    return gymnasium.wrappers.TimeLimit(Pendulum(), max_episode_steps=100)
