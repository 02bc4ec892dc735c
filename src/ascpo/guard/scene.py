"""Scenes by hand: a layout from the user's options, or an error that says why it is impossible."""

from collections.abc import Mapping

import jax.numpy as jnp
import mujoco
import numpy as np

from ascpo.guard import goal
from ascpo.guard.kinds import PILLAR
from ascpo.guard.layout import Layout
from ascpo.guard.task import Task

KEYS = ("robot", "goal", "obstacles")


class SceneError(ValueError):
    """An impossible scene, and the reason."""


def read_scene(task: Task, options: Mapping[str, object]) -> Layout:
    """The layout of `{"robot": [x, y, heading], "goal": [x, y], "obstacles": [[x, y], ...]}`.

    Goal and obstacles have a third number, their height, if the robot's world is three-dimensional. Obstacles are in
    the order of the suite's name. Scenes may break the rules of drawn layouts (a robot may start inside a hazard), but
    must be physically possible, and the goal must not be reached yet.
    """
    _check_keys(options)
    suite, robot = task.suite, task.suite.robot
    axes = 3 if robot.spatial else 2
    each = "[x, y, z]" if robot.spatial else "[x, y]"
    x, y, heading = _numbers(options["robot"], (3,), "robot", "[x, y, heading]")
    at_goal = _numbers(options["goal"], (axes,), "goal", each)
    obstacles = _numbers(options["obstacles"], (suite.count, axes), "obstacles", f"{suite.count} times {each}")
    if robot.anchored and (x, y) != (0.0, 0.0):
        raise SceneError(f"{robot.name} is bolted to the origin, not to ({x:g}, {y:g}). Give [0, 0, heading].")
    if robot.spatial and min(at_goal[2], *obstacles[:, 2]) < 0:
        raise SceneError("Goal and obstacles cannot be below the floor. Give them heights of 0 or more.")
    if not robot.spatial:
        resting = task.rules.resting_heights()
        at_goal, obstacles = np.append(at_goal, resting[1]), np.column_stack([obstacles, resting[2:]])
    layout = Layout(*(jnp.asarray(part, jnp.float32) for part in ([x, y], heading, at_goal, obstacles)))
    _check_goal(task, layout)
    _check_pillars(task, layout)
    return layout


def _check_keys(options: Mapping[str, object]) -> None:
    wrong = [f"{key!r} is not known" for key in options if key not in KEYS]
    if wrong := wrong + [f"{key!r} is missing" for key in KEYS if key not in options]:
        raise SceneError(f"A scene has the keys 'robot', 'goal' and 'obstacles': {', '.join(wrong)}.")


def _numbers(value: object, shape: tuple[int, ...], name: str, form: str) -> np.ndarray:
    try:
        numbers = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != shape:
        raise SceneError(f"{name!r} must be {form}, got {value!r}.")
    if not np.isfinite(numbers).all():
        raise SceneError(f"{name!r} must be finite, got {value!r}.")
    return numbers


def _check_goal(task: Task, layout: Layout) -> None:
    distance = float(task.begin(layout).distance)
    if distance <= goal.RADIUS:
        reached = f"The goal is {distance:.2f} m from the robot and counts as reached within {goal.RADIUS} m"
        raise SceneError(f"{reached}: the episode would be over at its start. Move one of them.")


def _check_pillars(task: Task, layout: Layout) -> None:
    posts = np.asarray(task.pillars_from_start(layout))
    if not len(posts):
        return
    gaps = np.linalg.norm(posts[:, None] - posts[None], axis=-1) + np.eye(len(posts)) * 9
    if gaps.min() < 2 * PILLAR.radius:
        i, j = np.unravel_index(gaps.argmin(), gaps.shape)
        raise SceneError(f"Pillars {i} and {j} overlap. Keep them {2 * PILLAR.radius} m apart.")
    data = mujoco.MjData(task.model)
    data.mocap_pos[:] = posts
    mujoco.mj_forward(task.model, data)
    touched = np.flatnonzero(data.sensordata[task.plan.offsets["contact"]])
    if len(touched):
        raise SceneError(f"Pillar {touched[0]} overlaps the robot. Move one of them.")
