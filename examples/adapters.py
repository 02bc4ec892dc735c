"""Environments of other packages with a cost: how a wrapper makes them ready to be trained on.

    ascpo check examples.adapters:point_maze
    ascpo train --env examples.adapters:highway --num-envs 4 --horizon 250 --total-steps 100e3

Each function needs its package: `pip install gymnasium-robotics`, `pip install highway-env`, `pip install playground`.
"""

from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np

import ascpo

SPEED_LIMIT = 2.0
"""Of the point in the maze, in metres a second."""


class Cost(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Adds `info["cost"]`: what `cost_of` makes of the observation and the info of a step."""

    def __init__(self, env: gymnasium.Env[Any, Any], cost_of: Any) -> None:
        super().__init__(env)
        self.cost_of = cost_of

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, truncated, {**info, "cost": self.cost_of(observation, info)}


def point_maze() -> gymnasium.Env[Any, Any]:
    """A point in a maze of Gymnasium-Robotics that must not be too fast. Its observations are a Dict, and get flat."""
    import gymnasium_robotics

    gymnasium.register_envs(gymnasium_robotics)
    env = gymnasium.make("PointMaze_UMazeDense-v3", max_episode_steps=300)

    def too_fast(observation: dict[str, np.ndarray], _: dict[str, Any]) -> float:
        return max(0.0, float(np.linalg.norm(observation["observation"][2:4])) - SPEED_LIMIT)

    return gymnasium.wrappers.FlattenObservation(Cost(env, too_fast))


def highway() -> gymnasium.Env[Any, Any]:
    """A car of highway-env that must not crash. Its actions are choices by default; these are numbers."""
    import highway_env

    gymnasium.register_envs(highway_env)
    config = {"action": {"type": "ContinuousAction"}, "duration": 20, "offroad_terminal": True}
    env = gymnasium.make("highway-v0", config=config)
    return Cost(env, lambda _, info: float(info["crashed"]))


def too_far(state: Any) -> Any:
    """How far the cart is beyond 10 cm from the middle."""
    return jnp.maximum(jnp.abs(state.data.qpos[0]) - 0.1, 0.0)


def cartpole() -> ascpo.PlaygroundWorld:
    """A cart of MuJoCo Playground that must balance its pole near the middle. Its steps are compiled by JAX."""
    return ascpo.PlaygroundWorld("CartpoleBalance", too_far, ("distance",), config={"episode_length": 250})
