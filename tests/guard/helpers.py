"""A suite's task by name, a plain MuJoCo loop, and settings for properties."""

from collections.abc import Callable, Iterator
from functools import cache

import mujoco
import numpy as np
from hypothesis import settings

from ascpo.guard.actuation import thrust
from ascpo.guard.model import SUBSTEPS
from ascpo.guard.observation import Observer
from ascpo.guard.suites import suite
from ascpo.guard.task import Task

# The first example compiles, so no example has a deadline; the same examples every time.
steady = settings(deadline=None, derandomize=True, max_examples=50)


@cache
def task_of(name: str, preset: str = "paper") -> Task:
    return Task(suite(name), Observer(suite(name), preset))


def command(model: mujoco.MjModel, data: mujoco.MjData, action) -> None:
    """Give the simulator an action: controls for motors, forces on the rotors' bodies."""
    if model.nu:
        data.ctrl[:] = action
        return
    hull = data.body("robot")
    rotors = [model.body(name).id for name in ("p1", "p2", "p3", "p4")]
    axis, height = hull.xmat.reshape(3, 3)[:, 2], np.asarray(hull.xpos[2])
    data.xfrc_applied[rotors, :3] = thrust(np.asarray(action), axis, height, float(model.body_mass.sum()))


def take_step(model: mujoco.MjModel, data: mujoco.MjData, action, watched: str = "robot") -> np.ndarray:
    """Ten substeps with the action held, then a forward pass. Returns where a body was as each substep began."""
    command(model, data, action)
    path = []
    for _ in range(SUBSTEPS):
        mujoco.mj_kinematics(model, data)
        path.append(data.body(watched).xpos.copy())
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    return np.array(path)


def drive(
    model: mujoco.MjModel, action: Callable[[int], object], steps: int, data: mujoco.MjData | None = None
) -> Iterator[mujoco.MjData]:
    """The simulation after each step, from the start or from where it is."""
    data = data or mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    for t in range(steps):
        take_step(model, data, action(t))
        yield data


def turned(angle: float) -> np.ndarray:
    """The rotation by `angle` about the vertical."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
