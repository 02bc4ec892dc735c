"""Observation and action spaces, the check of an action, and the `info` of a step: shared by single and vector
environments."""

from typing import get_args

import gymnasium
import numpy as np

from ascpo.guard.costs import Overlap
from ascpo.guard.observation import Observer, Preset
from ascpo.guard.suites import suite
from ascpo.guard.task import Outcome, Task

_ANY = float(np.finfo(np.float32).max)
_BOUNDS = {"goal_compass": (-1.0, 1.0), "magnetometer": (-0.5, 0.5)}


class OfTask:
    """Properties of an environment's task, for single and vector environments."""

    task: Task

    @property
    def suite(self) -> str:
        return self.task.suite.name

    @property
    def cost_names(self) -> tuple[str, ...]:
        """The names of the entries of `info["costs"]`."""
        return self.task.suite.cost_names

    @property
    def observation_layout(self) -> dict[str, slice]:
        """The slice of each block in an observation."""
        return self.task.observer.layout


def make_task(name: str, observations: Preset, overlap: Overlap, max_episode_steps: int | None) -> Task:
    """A suite's task, with its options checked."""
    for option, value, known in (("observations", observations, Preset), ("overlap", overlap, Overlap)):
        if value not in get_args(known):
            raise ValueError(f"{option}={value!r} is not known. Choose one of {', '.join(get_args(known))}.")
    if max_episode_steps is not None and max_episode_steps < 1:
        raise ValueError(f"max_episode_steps={max_episode_steps} allows no step. Use 1 or more, or None.")
    wanted = suite(name)
    return Task(wanted, Observer(wanted, observations), overlap, max_episode_steps)


def observation_space(task: Task) -> gymnasium.spaces.Box:
    low, high = np.empty(task.observer.size, np.float32), np.empty(task.observer.size, np.float32)
    for name, block in task.observer.layout.items():
        low[block], high[block] = _BOUNDS.get(name, (0.0, 1.0) if name.endswith("_lidar") else (-_ANY, _ANY))
    # Rotations are unit vectors up to rounding.
    low[low == -0.5], high[high == 0.5] = -0.5001, 0.5001
    return gymnasium.spaces.Box(low, high, dtype=np.float32)


def action_space(task: Task) -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(-1.0, 1.0, (task.suite.robot.actions,), np.float32)


def checked_actions(actions: object, shape: tuple[int, ...]) -> np.ndarray:
    """The actions as an array. The simulator clips values beyond [-1, 1]."""
    array = np.asarray(actions, np.float32)
    if array.shape != shape:
        raise ValueError(f"The action must have shape {shape}, got {array.shape}.")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"The action holds {array[where]} at index {list(where)}. Check the policy that made it.")
    return array


def info_of(task: Task, outcome: Outcome) -> dict[str, np.ndarray]:
    """The `info` of every environment: total and single costs, margins, and whether the goal was reached."""
    costs = np.asarray(outcome.costs, np.float64)
    named = {f"cost_{name}": costs[:, i] for i, name in enumerate(task.suite.cost_names)}
    flags = {"goal_met": outcome.goal_met.copy(), "diverged": outcome.diverged.copy()}
    margins = np.asarray(outcome.margins, np.float64)
    return {"cost": costs.sum(axis=1), "costs": costs, "margins": margins, **named, **flags}
