"""The native environments: exact physics, exact resets, and simulations that break down."""

import itertools

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from mujoco.batch import SimulationError

from ascpo.engines.actor import ScriptedActor
from ascpo.engines.native.engine import NativeEngine
from ascpo.engines.native.environments import NativeEnvironments
from ascpo.guard.layout import Layout
from ascpo.guard.model import SUBSTEPS
from ascpo.guard.observation import Observer
from ascpo.guard.suites import suite
from ascpo.guard.task import Task
from tests.slow import always, slow


def task_of(name, **options):
    return Task(suite(name), Observer(suite(name)), **options)


def envs_of(name, num_envs=3, num_threads=1, **options):
    envs = NativeEnvironments(task_of(name, **options), num_envs, num_threads)
    envs.reset(np.arange(num_envs))
    return envs


def actions_of(envs, count, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (count, envs.num_envs, envs.task.suite.robot.actions)).astype(np.float32)


def plain_mujoco(envs):
    """The environments' model, and one simulation of it at the start."""
    data = mujoco.MjData(envs.task.model)
    mujoco.mj_forward(envs.task.model, data)
    return envs.task.model, data


@pytest.mark.parametrize("name", always(["Point-8-Hazard", "Ant-8-Hazard", "Humanoid-8-Hazard"], "Humanoid-8-Hazard"))
def test_a_step_is_ten_substeps_and_a_forward_pass_of_plain_mujoco(name):
    envs = envs_of(name)
    model, data = plain_mujoco(envs)
    for action in actions_of(envs, 5):
        envs.step(action)
        data.ctrl[:] = action[1]
        mujoco.mj_step(model, data, SUBSTEPS)
        mujoco.mj_forward(model, data)
        np.testing.assert_array_equal(envs.data(1).qpos, data.qpos)
        np.testing.assert_array_equal(envs._simulator.sensors[1, : model.nsensordata], data.sensordata.astype("f4"))


def test_rotors_push_along_the_hulls_orientation_at_the_start_of_the_step():
    envs = envs_of("Drone-1-3DHazard", num_envs=1)
    for _ in range(50):
        envs.step(np.array([[-1.0, 0.5, 1.0, 0.0]], np.float32))
    np.testing.assert_allclose(envs.data(0).qpos, [0.6336, -0.1089, 0.3262, 0.2339, 1.1997, 0.0011], atol=1e-4)


def test_ghosts_react_to_the_robots_position_at_the_start_of_each_substep():
    envs = envs_of("Point-1-Ghost", num_envs=1)
    model, data = plain_mujoco(envs)
    for action in actions_of(envs, 3):
        envs.step(action)
        data.ctrl[:] = action[0]
        path = []
        for _ in range(SUBSTEPS):
            mujoco.mj_forward(model, data)
            path.append(data.body("robot").xpos.copy())
            mujoco.mj_step(model, data)
        seen = envs.task.plan.read(jnp.asarray(envs._simulator.sensors[0])).path
        np.testing.assert_array_equal(seen, np.array(path, np.float32))


def test_pillars_stand_at_their_places_in_the_layout_whatever_the_robots_heading():
    envs = envs_of("Point-4-Pillar", num_envs=5)
    layout = envs.memory.layout
    for env in range(5):
        c, s = np.cos(layout.heading[env]), np.sin(layout.heading[env])
        turned = envs.data(env).mocap_pos[:, :2] @ np.array([[c, s], [-s, c]])
        np.testing.assert_allclose(turned + layout.robot[env], layout.obstacles[env, :, :2], atol=1e-5)


def test_driving_into_a_pillar_costs_one_however_many_points_touch():
    envs = envs_of("Point-1-Pillar", num_envs=1)
    envs.place(Layout(np.zeros(2), np.array(0.3), np.array([-1.5, -1.5, 0.26]), np.array([[0.45, 0.14, 0.5]])))
    costs = [envs.step(np.array([[1.0, 0.0]], np.float32)).outcome.costs[0, 0] for _ in range(60)]
    assert costs[0] == 0.0
    assert set(costs) == {0.0, 1.0}
    assert np.linalg.norm(envs.data(0).qpos[:2]) < 0.3, "the pillar stops the robot"


def test_an_environment_is_reset_in_the_step_in_which_its_episode_ends():
    envs = envs_of("Point-8-Hazard", max_episode_steps=3)
    for action in actions_of(envs, 2):
        assert not envs.step(action).outcome.truncated.any()
    step = envs.step(actions_of(envs, 1)[0])
    assert step.outcome.truncated.all()
    assert not step.outcome.terminated.any()
    np.testing.assert_array_equal(step.observation, envs.memory.observation)
    assert (step.observation != step.outcome.observation).any(axis=1).all()
    np.testing.assert_array_equal(envs.memory.step, 0)
    np.testing.assert_array_equal(envs.data(0).qpos, 0.0)
    np.testing.assert_array_equal(envs.episodes, 1)


@slow("bits agree only in programs compiled as for users")
def test_results_do_not_depend_on_threads_or_other_environments():
    alone = NativeEnvironments(task_of("Point-8-Ghost", max_episode_steps=7), 1, num_threads=1)
    together = NativeEnvironments(task_of("Point-8-Ghost", max_episode_steps=7), 20, num_threads=2)
    np.testing.assert_array_equal(alone.reset(np.array([13]))[0], together.reset(np.arange(20))[13])
    # Long enough to use up the episodes drawn ahead, which are fewer where there are more environments.
    for action in actions_of(together, 150):
        one, many = alone.step(action[13:14]), together.step(action)
        np.testing.assert_array_equal(one.observation[0], many.observation[13])
        np.testing.assert_array_equal(one.outcome.observation[0], many.outcome.observation[13])
        assert one.outcome.reward[0] == many.outcome.reward[13]
        assert one.outcome.costs[0] == many.outcome.costs[13]


def test_a_simulation_that_diverges_ends_its_own_episode_as_a_violation_and_no_other():
    envs = envs_of("Point-4-Hazard+2-Pillar")
    before = envs.step(actions_of(envs, 1)[0])
    envs._simulator.batch.bind("qvel")[1, 0] = np.inf
    step = envs.step(actions_of(envs, 1)[0])
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
    for action in actions_of(envs, 3):
        after = envs.step(action)
        assert np.isfinite(after.observation).all()
        assert not after.outcome.diverged.any()


def test_an_error_inside_mujoco_ends_one_episode(monkeypatch):
    envs = envs_of("Point-8-Hazard")
    batch = envs._simulator.batch
    step = type(batch).step

    def step_with_error(self, *args, **kwargs):
        step(self, *args, **kwargs)
        raise SimulationError(np.array([2]), "out of memory")

    monkeypatch.setattr(type(batch), "step", step_with_error)
    monkeypatch.setattr(type(batch), "error", lambda self, sim: "out of memory")
    taken = envs.step(actions_of(envs, 1)[0])
    np.testing.assert_array_equal(taken.outcome.diverged, [False, False, True])
    assert "out of memory" in str(taken.divergences[0])


def test_a_sensor_that_reads_nan_counts_as_a_breakdown(monkeypatch):
    envs = envs_of("Point-8-Hazard")
    simulate = envs._simulator.step

    def step_with_nan(actions):
        reasons = simulate(actions)
        envs._simulator.sensors[0, 3] = np.nan
        return reasons

    monkeypatch.setattr(envs._simulator, "step", step_with_nan)
    taken = envs.step(actions_of(envs, 1)[0])
    np.testing.assert_array_equal(taken.outcome.diverged, [True, False, False])
    assert "NaN" in str(taken.divergences[0])


def test_contacts_switched_off_change_no_trajectory_of_the_point():
    with_contacts = envs_of("Point-8-Hazard").task.model
    assert with_contacts.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = [mujoco.MjData(with_contacts), mujoco.MjData(with_contacts)]
    for action in np.random.default_rng(0).uniform(-1, 1, (50, 2)):
        for one, flags in zip(data, (0, with_contacts.opt.disableflags), strict=True):
            kept, with_contacts.opt.disableflags = with_contacts.opt.disableflags, flags
            one.ctrl[:] = action
            mujoco.mj_step(with_contacts, one, SUBSTEPS)
            with_contacts.opt.disableflags = kept
        np.testing.assert_array_equal(data[0].qpos, data[1].qpos)


@pytest.mark.parametrize("kind", [NativeEngine, NativeEnvironments])
@pytest.mark.parametrize(("num_envs", "num_threads", "word"), [(0, 1, "environment"), (2, -1, "thread")])
def test_impossible_sizes_are_refused(kind, num_envs, num_threads, word):
    with pytest.raises(ValueError, match=word):
        kind(task_of("Point-1-Hazard"), num_envs, num_threads)


NOTHING = [np.zeros((1, 1), np.float32)]
"""The parameters of a policy that has none."""


@pytest.mark.parametrize("name", ["Point-4-Hazard", "Point-4-Ghost", "Drone-4-3DHazard"])
def test_an_environment_for_which_no_episode_is_left_rests_and_the_others_go_on_unchanged(name):
    episodes, actions = [(5, i) for i in range(4)], np.random.default_rng(0).uniform(-1, 1, (1, 26, 1, 1))
    task = task_of(name, max_episode_steps=10)
    noise = np.broadcast_to(actions, (1, 26, 3, task.suite.robot.actions)).astype(np.float32)
    engine, alone, poses = NativeEngine(task, 3, 1), NativeEngine(task, 1, 1), []
    engine.after_physics = lambda: poses.append(engine.live("qpos").copy())
    engine.start_at(ScriptedActor(), episodes)
    # Three episodes of ten steps, then the fourth in the first environment. The last six steps are nobody's.
    (company,) = engine.collect(NOTHING, [noise])
    moved = [(now != before).any(axis=1).tolist() for before, now in itertools.pairwise(poses[10:])]
    assert moved == 10 * [[True, False, False]] + 5 * [[False, False, False]]
    paths = company.observation[0]
    for episode, env, first in ((0, 0, 0), (1, 1, 0), (2, 2, 0), (3, 0, 10)):
        alone.start_at(ScriptedActor(), [episodes[episode]])
        (single,) = alone.collect(NOTHING, [noise[:, first : first + 10, :1]])
        np.testing.assert_array_equal(single.observation[0, :, 0], paths[first : first + 10, env])
        np.testing.assert_array_equal(single.cost[0, :, 0], company.cost[0, first : first + 10, env])
