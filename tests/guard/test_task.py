"""The task: the world of a layout around a simulation that always starts at the origin with heading 0."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

from ascpo.environments.spaces import make_task
from ascpo.guard import ghosts
from ascpo.guard.kinds import GHOST
from ascpo.guard.layout import Layout
from ascpo.guard.model import make_model
from ascpo.guard.task import Memory, Outcome, Task
from tests.slow import always

from .helpers import take_step, task_of, turned

PLACE, HEADING = (0.7, -1.1), 2.0
GOAL = (-0.9, 0.4, 0.8)
SUITES = ("Point-1-Pillar+2-Ghost", "Ant-2-Hazard", "Walker-2-Hazard", "Drone-2-3DHazard", "Arm3-2-Hazard")
TWO_COSTS = "Point-2-Hazard+1-Pillar"


def scene(*obstacles, robot=PLACE, heading=HEADING, goal=GOAL) -> Layout:
    return Layout(*(jnp.asarray(value, jnp.float32) for value in (robot, heading, goal, obstacles)))


def world_of(task: Task) -> Layout:
    """A layout with obstacles ahead of the robot, the first of them so near that it touches it."""
    ahead = turned(HEADING)[:2, :2] @ (0.33, 0.0) + PLACE
    return scene((*ahead, 0.5), *((-1.4 + i, 1.3, 0.9) for i in range(1, task.suite.count)))


@cache
def programs(task: Task):
    return jax.jit(task.begin), jax.jit(task.advance)


def begin(task: Task, layout: Layout) -> Memory:
    return programs(task)[0](layout)


def advance(task: Task, memory: Memory, sensors):
    return programs(task)[1](memory, jnp.asarray(sensors, jnp.float32))


def simulate(
    task: Task, pillars: np.ndarray, steps: int, action, place=(0.0, 0.0), heading=0.0
) -> Iterator[tuple[np.ndarray, mujoco.MjData]]:
    """The vector of sensors after each step of a simulation that starts at a place with a heading."""
    model = make_model(task.suite)
    root = model.body("robot")
    root.pos[:2], root.quat[:] = place, (np.cos(heading / 2), 0, 0, np.sin(heading / 2))
    data = mujoco.MjData(model)
    if model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:
        data.qpos[:7] = np.concatenate([root.pos, root.quat])
    data.mocap_pos[:] = pillars
    mujoco.mj_forward(model, data)
    for t in range(steps):
        path = take_step(model, data, action(t), task.suite.robot.tracked)
        yield np.concatenate([data.sensordata, path.ravel() if task.suite.moves else []]), data


def wave(task: Task):
    return lambda t: np.sin(0.3 * t + np.arange(task.suite.robot.actions))


class Step(NamedTuple):
    """A step of a simulation at the origin, seen in a layout; and the truth, of a simulation in the layout itself."""

    memory: Memory
    outcome: Outcome
    true_memory: Memory
    true_outcome: Outcome
    data: mujoco.MjData


def in_both_worlds(name: str, steps: int = 4) -> Iterator[Step]:
    task, layout = task_of(name), world_of(task_of(name))
    seen = begin(task, layout)
    truth = replace(seen, layout=replace(layout, robot=jnp.zeros(2), heading=jnp.zeros(())))
    here = simulate(task, np.asarray(task.pillars_from_start(layout)), steps, wave(task))
    there = simulate(task, layout.obstacles[: task.suite.pillars], steps, wave(task), PLACE, HEADING)
    for (sensors, _), (true_sensors, data) in zip(here, there, strict=True):
        seen, outcome = advance(task, seen, sensors)
        truth, true_outcome = advance(task, truth, true_sensors)
        yield Step(seen, outcome, truth, true_outcome, data)


@pytest.mark.parametrize("name", always(SUITES, SUITES[0], "Drone-2-3DHazard"))
def test_a_robot_moves_in_a_layout_as_if_it_were_simulated_there(name):
    for step in in_both_worlds(name):
        # Forces of contact differ in the last digits of double precision, and sensors feel it.
        assert_allclose(step.outcome.observation, step.true_outcome.observation, atol=2e-4, rtol=2e-4)
        assert_allclose(step.outcome.reward, step.true_outcome.reward, atol=2e-6)
        assert_allclose(step.outcome.costs, step.true_outcome.costs, atol=2e-6)
        assert_allclose(step.memory.distance, step.true_memory.distance, rtol=1e-5)
        assert_allclose(step.memory.layout.obstacles, step.true_memory.layout.obstacles, atol=2e-6)


@pytest.mark.parametrize("name", SUITES)
def test_rewards_are_the_approach_of_the_tracked_frame_to_the_goal(name):
    task = task_of(name)
    tracked, axes = task.suite.robot.tracked, 3 if task.suite.robot.spatial else 2
    x, y, z = task.rules.start[task.suite.robot.frames.index(tracked)]
    before = np.linalg.norm((turned(HEADING) @ (x, y, z) + (*PLACE, 0) - GOAL)[:axes])
    for step in in_both_worlds(name):
        after = np.linalg.norm((step.data.body(tracked).xpos - GOAL)[:axes])
        assert step.outcome.reward == pytest.approx(before - after, abs=2e-6)
        before = after


@pytest.mark.parametrize("name", ["Ant-2-Hazard", "Drone-2-3DHazard", "Arm3-2-Hazard"])
def test_magnetometers_read_the_worlds_field_in_their_own_frames(name):
    task = task_of(name)
    for step in in_both_worlds(name):
        rotations = [step.data.body(frame).xmat.reshape(3, 3) for frame in task.suite.robot.frames]
        expected = np.concatenate([R.T @ (0, -0.5, 0) for R in rotations])
        assert_allclose(step.outcome.observation[task.observer.layout["magnetometer"]], expected, atol=1e-6)


def test_a_pillar_stands_at_its_place_in_the_layout_and_costs_one_while_touched():
    costs, touched = [], []
    for step in in_both_worlds("Point-1-Pillar+2-Ghost"):
        pillar = step.data.model.geom("pillar_0").id
        touched.append(float((step.data.contact.geom == pillar).any()))
        costs.append(float(step.outcome.costs[0]))
    assert costs == touched
    assert set(costs) == {0.0, 1.0}  # the robot bounces off


def test_ghosts_react_to_the_robots_position_at_the_start_of_the_last_substep():
    task = task_of("Point-1-Pillar+2-Ghost")
    layout = scene((9, 9, 0.5), (-1.4, 1.3, 0.02), (-1.0, -2.0, 0.02))
    # The robot races round a circle, so the direction of each substep tells which place was seen.
    angles = np.linspace(0, 3, 10)
    path = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=-1)
    sensors = task.start.sensors.copy()
    sensors[task.plan.offsets["path"]] = path.ravel()
    in_world = path @ turned(HEADING).T + (*PLACE, 0)
    seen = jnp.asarray(in_world[[0, 0, 1, 2, 3, 4, 5, 6, 7, 8]], jnp.float32)
    after = advance(task, begin(task, layout), sensors)[0].layout
    assert_allclose(after.obstacles[1:], ghosts.drift(layout.obstacles[1:], seen, GHOST), atol=3e-7)
    assert_allclose(after.obstacles[0], layout.obstacles[0])


def test_a_robot_that_stands_still_observes_the_same_and_has_no_reward():
    task = task_of(TWO_COSTS)
    memory = begin(task, world_of(task))
    after, outcome = advance(task, memory, task.start.sensors)
    assert_allclose(outcome.observation, memory.observation, atol=1e-6)
    assert outcome.reward == 0
    assert (memory.step, after.step) == (0, 1)
    assert not any((outcome.terminated, outcome.truncated, outcome.diverged))


def test_the_episode_ends_at_the_goal():
    task = task_of(TWO_COSTS)
    near = replace(world_of(task), goal=jnp.array([*PLACE, 0.26]))
    _, outcome = advance(task, begin(task, near), task.start.sensors)
    assert outcome.reward == 1
    assert outcome.goal_met
    assert outcome.terminated
    assert not outcome.truncated


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("goal", [GOAL, (*PLACE, 0.26)])
def test_a_simulation_that_breaks_down_ends_the_episode_as_a_violation_of_everything(broken, goal):
    task = task_of(TWO_COSTS)
    before = begin(task, replace(world_of(task), goal=jnp.array(goal)))
    for block in ("accelerometer", "position", "attitude", "contact"):
        sensors = task.start.sensors.copy()
        sensors[task.plan.offsets[block].start] = broken
        memory, outcome = advance(task, before, sensors)
        assert outcome.diverged
        assert outcome.terminated
        assert not outcome.goal_met
        assert outcome.reward == -10
        assert_allclose(outcome.costs, (1, 1))
        assert_allclose(outcome.observation, before.observation)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((memory, outcome)))


@pytest.mark.parametrize(("limit", "truncated"), [(2, [False, True, True]), (None, [False, False, False])])
def test_the_time_limit_cuts_an_episode_and_does_not_end_it(limit, truncated):
    task = replace(task_of(TWO_COSTS), max_episode_steps=limit)
    memory = begin(task_of(TWO_COSTS), world_of(task))
    for expected in truncated:
        memory, outcome = advance(task, memory, task.start.sensors)
        assert outcome.truncated == expected
        assert not outcome.terminated


@pytest.mark.parametrize(
    ("overlap", "limit", "advice"),
    [("mean", 1000, "Choose one of closest, sum"), ("sum", 0, "Use 1 or more, or None")],
)
def test_wrong_options_are_refused_with_advice(overlap, limit, advice):
    with pytest.raises(ValueError, match=advice):
        make_task(TWO_COSTS, "paper", overlap, limit)
