"""The native engine: exact physics, exact resets, and simulations that break down."""

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from mujoco.batch import SimulationError

from ascpo.engines.native import NativeEngine
from ascpo.guard.layout import Layout
from ascpo.guard.model import SUBSTEPS
from ascpo.guard.observation import Observer
from ascpo.guard.suites import suite
from ascpo.guard.task import Task


def task_of(name, **options):
    return Task(suite(name), Observer(suite(name)), **options)


def engine_of(name, num_envs=3, num_threads=1, **options):
    engine = NativeEngine(task_of(name, **options), num_envs, num_threads)
    engine.start(np.arange(num_envs))
    return engine


def actions_of(engine, count, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (count, engine.num_envs, engine.task.suite.robot.actions)).astype(np.float32)


def plain_mujoco(engine):
    """The engine's model, and one simulation of it at the start."""
    data = mujoco.MjData(engine.task.model)
    mujoco.mj_forward(engine.task.model, data)
    return engine.task.model, data


@pytest.mark.parametrize("name", ["Point-8-Hazard", "Ant-8-Hazard", "Humanoid-8-Hazard"])
def test_a_step_is_ten_substeps_and_a_forward_pass_of_plain_mujoco(name):
    engine = engine_of(name)
    model, data = plain_mujoco(engine)
    for action in actions_of(engine, 5):
        engine.step(action)
        data.ctrl[:] = action[1]
        mujoco.mj_step(model, data, SUBSTEPS)
        mujoco.mj_forward(model, data)
        np.testing.assert_array_equal(engine.data(1).qpos, data.qpos)
        np.testing.assert_array_equal(engine._simulator.sensors[1, : model.nsensordata], data.sensordata.astype("f4"))


def test_rotors_push_along_the_hull_as_it_stood_when_the_step_began():
    engine = engine_of("Drone-1-3DHazard", num_envs=1)
    for _ in range(50):
        engine.step(np.array([[-1.0, 0.5, 1.0, 0.0]], np.float32))
    np.testing.assert_allclose(engine.data(0).qpos, [0.6336, -0.1089, 0.3262, 0.2339, 1.1997, 0.0011], atol=1e-4)


def test_ghosts_see_the_robot_where_each_substep_began():
    engine = engine_of("Point-1-Ghost", num_envs=1)
    model, data = plain_mujoco(engine)
    for action in actions_of(engine, 3):
        engine.step(action)
        data.ctrl[:] = action[0]
        path = []
        for _ in range(SUBSTEPS):
            mujoco.mj_forward(model, data)
            path.append(data.body("robot").xpos.copy())
            mujoco.mj_step(model, data)
        seen = engine.task.plan.read(jnp.asarray(engine._simulator.sensors[0])).path
        np.testing.assert_array_equal(seen, np.array(path, np.float32))


def test_pillars_stand_where_the_layout_says_whatever_the_robots_heading():
    engine = engine_of("Point-4-Pillar", num_envs=5)
    layout = engine.memory.layout
    for env in range(5):
        c, s = np.cos(layout.heading[env]), np.sin(layout.heading[env])
        turned = engine.data(env).mocap_pos[:, :2] @ np.array([[c, s], [-s, c]])
        np.testing.assert_allclose(turned + layout.robot[env], layout.obstacles[env, :, :2], atol=1e-5)


def test_driving_into_a_pillar_costs_one_however_many_points_touch():
    engine = engine_of("Point-1-Pillar", num_envs=1)
    engine.place(Layout(np.zeros(2), np.array(0.3), np.array([-1.5, -1.5, 0.26]), np.array([[0.45, 0.14, 0.5]])))
    costs = [engine.step(np.array([[1.0, 0.0]], np.float32)).outcome.costs[0, 0] for _ in range(60)]
    assert costs[0] == 0.0
    assert set(costs) == {0.0, 1.0}
    assert np.linalg.norm(engine.data(0).qpos[:2]) < 0.3, "the pillar stops the robot"


def test_an_episode_that_ends_begins_anew_in_the_same_step():
    engine = engine_of("Point-8-Hazard", max_episode_steps=3)
    for action in actions_of(engine, 2):
        assert not engine.step(action).outcome.truncated.any()
    step = engine.step(actions_of(engine, 1)[0])
    assert step.outcome.truncated.all()
    assert not step.outcome.terminated.any()
    np.testing.assert_array_equal(step.observation, engine.memory.observation)
    assert (step.observation != step.outcome.observation).any(axis=1).all()
    np.testing.assert_array_equal(engine.memory.step, 0)
    np.testing.assert_array_equal(engine.data(0).qpos, 0.0)
    np.testing.assert_array_equal(engine.episodes, 1)


def test_threads_and_company_change_no_bit():
    alone = NativeEngine(task_of("Point-8-Ghost", max_episode_steps=7), 1, num_threads=1)
    together = NativeEngine(task_of("Point-8-Ghost", max_episode_steps=7), 20, num_threads=2)
    np.testing.assert_array_equal(alone.start(np.array([13]))[0], together.start(np.arange(20))[13])
    # Long enough to use up the episodes drawn ahead, which are fewer in the larger engine.
    for action in actions_of(together, 150):
        one, many = alone.step(action[13:14]), together.step(action)
        np.testing.assert_array_equal(one.observation[0], many.observation[13])
        np.testing.assert_array_equal(one.outcome.observation[0], many.outcome.observation[13])
        assert one.outcome.reward[0] == many.outcome.reward[13]
        assert one.outcome.costs[0] == many.outcome.costs[13]


def test_a_simulation_that_diverges_ends_its_own_episode_as_a_violation_and_no_other():
    engine = engine_of("Point-4-Hazard+2-Pillar")
    before = engine.step(actions_of(engine, 1)[0])
    engine._simulator.batch.bind("qvel")[1, 0] = np.inf
    step = engine.step(actions_of(engine, 1)[0])
    np.testing.assert_array_equal(step.outcome.diverged, [False, True, False])
    np.testing.assert_array_equal(step.outcome.terminated, [False, True, False])
    np.testing.assert_array_equal(step.outcome.costs[1], 1.0)
    assert step.outcome.reward[1] == -10.0
    assert not step.outcome.goal_met[1]
    np.testing.assert_array_equal(step.outcome.observation[1], before.observation[1])
    (divergence,) = step.divergences
    assert (divergence.env, divergence.seed, divergence.episode, divergence.step) == (1, 1, 0, 2)
    assert "BADQVEL" in str(divergence)
    assert "environment 1 (seed 1, episode 0, step 2)" in str(divergence)
    for action in actions_of(engine, 3):
        after = engine.step(action)
        assert np.isfinite(after.observation).all()
        assert not after.outcome.diverged.any()


def test_an_error_inside_mujoco_ends_one_episode(monkeypatch):
    engine = engine_of("Point-8-Hazard")
    batch = engine._simulator.batch
    step = type(batch).step

    def step_with_error(self, *args, **kwargs):
        step(self, *args, **kwargs)
        raise SimulationError(np.array([2]), "out of memory")

    monkeypatch.setattr(type(batch), "step", step_with_error)
    monkeypatch.setattr(type(batch), "error", lambda self, sim: "out of memory")
    taken = engine.step(actions_of(engine, 1)[0])
    np.testing.assert_array_equal(taken.outcome.diverged, [False, False, True])
    assert "out of memory" in str(taken.divergences[0])


def test_a_sensor_that_reads_nan_is_a_breakdown_too(monkeypatch):
    engine = engine_of("Point-8-Hazard")
    simulate = engine._simulator.step

    def step_with_nan(actions):
        reasons = simulate(actions)
        engine._simulator.sensors[0, 3] = np.nan
        return reasons

    monkeypatch.setattr(engine._simulator, "step", step_with_nan)
    taken = engine.step(actions_of(engine, 1)[0])
    np.testing.assert_array_equal(taken.outcome.diverged, [True, False, False])
    assert "NaN" in str(taken.divergences[0])


def test_contacts_switched_off_change_no_trajectory_of_the_point():
    with_contacts = engine_of("Point-8-Hazard").task.model
    assert with_contacts.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = [mujoco.MjData(with_contacts), mujoco.MjData(with_contacts)]
    for action in np.random.default_rng(0).uniform(-1, 1, (50, 2)):
        for one, flags in zip(data, (0, with_contacts.opt.disableflags), strict=True):
            kept, with_contacts.opt.disableflags = with_contacts.opt.disableflags, flags
            one.ctrl[:] = action
            mujoco.mj_step(with_contacts, one, SUBSTEPS)
            with_contacts.opt.disableflags = kept
        np.testing.assert_array_equal(data[0].qpos, data[1].qpos)


@pytest.mark.parametrize(("num_envs", "num_threads", "word"), [(0, 1, "environment"), (2, -1, "thread")])
def test_impossible_sizes_are_refused(num_envs, num_threads, word):
    with pytest.raises(ValueError, match=word):
        NativeEngine(task_of("Point-1-Hazard"), num_envs, num_threads)
