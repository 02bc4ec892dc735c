"""The mjx engine on the host plays the native engine's episodes in single precision, whatever runs beside them.

Compiling takes nearly all of the time, so the tests share two programs: one for three runs and one for a single run.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.engines.actor import ScriptedActor
from ascpo.engines.contract import Engine, RunBatch
from ascpo.engines.mjx import program as module
from ascpo.engines.mjx.engine import MjxEngine
from ascpo.engines.mjx.physics import Physics, Unserved, in_single_precision
from ascpo.engines.native.engine import NativeEngine
from ascpo.engines.native.programs import PolicyStep, policy_programs
from ascpo.engines.native.simulator import Simulator
from ascpo.engines.task_step import TaskStep, packed_memory
from ascpo.environments.spaces import make_task
from ascpo.seeding import Purpose, seed_of
from tests.actors import ToyActor
from tests.engines.test_runs import ENVS, assert_same, shield
from tests.slow import slow

LIMIT = 9
"""Steps of an episode. The motor that turns the robot switches back and forth between its ends: what rounding does to
the speed of turning grows tenfold in a step or two, while the place stays as it is to five digits."""


def by_noise(theta, observation, noise):
    return noise


SEED = seed_of(Purpose.TRAINING, 700, 1)
BATCHES = [RunBatch(ToyActor(by_noise, maxima=1), (3, 700)), RunBatch(ToyActor(by_noise, shield=shield), (3,))]
THETAS = [jnp.zeros((2, 1)), jnp.zeros((1, 1))]


def task_of(suite, limit=LIMIT):
    return make_task(suite, "paper", "closest", limit)


def actions(steps, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, (len(batch), steps, ENVS, 2)).astype(np.float32) for batch in BATCHES]


@pytest.fixture(scope="module")
def opened():
    return MjxEngine(task_of("Point-1-Ghost"), ENVS, "jax")


@pytest.fixture
def engine(opened):
    """An engine that is restarted for every test."""
    opened.start(BATCHES)
    opened.divergences.clear()
    return opened


def snapshots(engine):
    return [engine.snapshots()(run) for run in range(3)]


def test_an_mjx_engine_follows_the_protocol_for_any_number_of_runs(engine):
    assert isinstance(engine, Engine)
    assert (engine.max_runs, engine.envs_per_run) == (None, ENVS)
    assert engine.notes[0].startswith("Physics by MJX (jax) on one device")


def test_episodes_are_those_of_the_native_engine(engine):
    native = NativeEngine(engine.task, 3 * ENVS, 1)
    native.start(BATCHES)
    steps = 2 * LIMIT + 7
    for seed in range(2):
        ours, theirs = (each.collect(THETAS, actions(steps, seed)) for each in (engine, native))
        for one, two in zip(ours, theirs, strict=True):
            assert_array_equal(one.terminated, two.terminated)
            assert_array_equal(one.truncated, two.truncated)
            assert_array_equal(one.action, two.action)
            age = np.arange(steps * seed, steps * (seed + 1)) % LIMIT
            # No physics has happened yet. On some processors a compiler rounds the sensors' sums in another order.
            assert_allclose(one.observation[:, age == 0], two.observation[:, age == 0], atol=1e-6)
            assert_allclose(one.reward, two.reward, atol=1e-4)
            assert_allclose(one.cost, two.cost, atol=1e-4)
            error = np.abs(np.asarray(one.next_observation) - np.asarray(two.next_observation))
            assert np.median(error[:, age < 3][error[:, age < 3] > 0]) < 1e-5
            assert np.quantile(error, 0.95) < 1e-3
        assert_array_equal(ours[1].taken, theirs[1].taken)
    assert_array_equal(np.asarray(engine._carry.episodes).T.ravel(), native.episodes)


@pytest.mark.parametrize("seeding", [1, 2])
def test_scenes_are_those_of_the_native_engine_in_every_version_of_the_seeding(opened, seeding):
    batches = [replace(batch, seeding=seeding) for batch in BATCHES]
    native = NativeEngine(opened.task, 6, 1)
    for each in (opened, native):
        each.start(batches)
        each.cut()
    ours = packed_memory(opened.task).unpack(np.asarray(opened._carry.rows)).layout
    for found, expected in zip(jax.tree.leaves(ours), jax.tree.leaves(native.memory.layout), strict=True):
        # The native engine has all environments of a run together.
        assert_array_equal(np.swapaxes(found, 0, 1).reshape(expected.shape), expected)
    assert_array_equal(opened._seeds.T.ravel(), native.seeds)


def test_equal_sensors_give_bit_identical_observations(engine):
    """The task as the native engine compiles it, and as this one batches it."""
    task, actor = engine.task, BATCHES[0].actor
    count, rng = 2 * ENVS, np.random.default_rng(0)
    simulator = Simulator(task, count, 1)
    simulator.reset(np.arange(count), np.zeros((count, 0, 3)))
    upcoming = engine._upcoming.rows[:, :2].reshape(count, -1, packed_memory(task).width)
    rows, augmentations, zero = upcoming[:, 0], jnp.tile(actor.initial(), (count, 1)), jnp.zeros(1)
    programs, settle = policy_programs(task, actor), jax.jit(jax.vmap(jax.vmap(TaskStep(task, actor).settle)))
    act = jax.jit(jax.vmap(jax.vmap(TaskStep(task, actor).act, (None, 0, 0, 0)), (None, 0, 0, 0)))

    def pairs(x):
        return jnp.asarray(x).reshape(ENVS, 2, *np.shape(x)[1:])

    for _ in range(LIMIT + 2):
        noise = rng.uniform(-1, 1, (count, 2)).astype(np.float32)
        simulator.step(noise)
        now = settle(*map(pairs, (rows, augmentations, simulator.sensors, upcoming[:, 1])))
        ours = PolicyStep(act(zero, now.row, now.augmentation, pairs(noise)), now.outcome)
        position = jnp.ones(count, jnp.int32)
        given = (jnp.array(rows), jnp.array(augmentations), simulator.sensors, upcoming, position, noise)
        rows, augmentations, results = programs.advance(zero, *given)
        assert_same(ours, jax.tree.map(pairs, programs.record.unpack(np.asarray(results))))
        assert_array_equal(now.row, pairs(rows))
        assert_array_equal(now.augmentation, pairs(augmentations))


def test_equal_actors_act_as_one_batch_wherever_their_runs_are():
    plain, other = ToyActor(by_noise, maxima=1), ToyActor(by_noise, shield=shield)
    runs = [slice(0, 2), slice(2, 3), slice(3, 6)]
    first, second = module.ensembles([plain, other, ToyActor(by_noise, maxima=1)], runs)
    assert (first.actor, first.batches, second.batches) == (plain, (0, 2), (1,))
    everything = jnp.arange(24.0).reshape(2, 6, 2)
    joined = first.choose({"x": everything})["x"]
    assert_array_equal(joined, everything[:, np.array([0, 1, 3, 4, 5])])
    assert_array_equal(first.join([everything[:, own] for own in runs]), joined)
    parts = dict(first.split(joined))
    assert_array_equal(parts[0], everything[:, :2])
    assert_array_equal(parts[2], everything[:, 3:])


@slow("compiles with optimisation")
def test_a_run_is_the_same_alone_and_beside_others(engine):
    alone = MjxEngine(engine.task, ENVS, "jax")
    alone.start([RunBatch(BATCHES[0].actor, (700,))])
    for seed in range(2):
        noise = actions(25, seed)
        together = engine.collect(THETAS, noise)[0]
        assert_same(jax.tree.map(lambda x: x[1:], together), alone.collect([THETAS[0][1:]], [noise[0][1:]])[0])
        assert_same(engine.snapshots()(1), alone.snapshots()(0))


@slow("compiles twice")
def test_runs_continue_from_snapshots(engine):
    engine.collect(THETAS, actions(25))
    before = snapshots(engine)
    expected, after = engine.collect(THETAS, actions(25, 1)), snapshots(engine)
    engine.start(BATCHES)
    engine.restore([{name: np.asarray(x) for name, x in each.items()} for each in before])
    assert_same(engine.collect(THETAS, actions(25, 1)), expected)
    assert_same(snapshots(engine), after)


def test_snapshots_of_other_runs_are_refused(engine):
    with pytest.raises(ValueError, match="There are 2 snapshots for 3 runs"):
        engine.restore(snapshots(engine)[:2])
    less = [{name: x[:1] for name, x in each.items()} for each in snapshots(engine)]
    with pytest.raises(ValueError, match="has 1 environments, but a run has 2 here"):
        engine.restore(less)


@slow("compiles its own program")
def test_episodes_that_are_cut_are_followed_by_the_next(engine):
    native = NativeEngine(engine.task, 3 * ENVS, 1)
    native.start(BATCHES)
    for each in (engine, native):
        each.collect(THETAS, actions(25))
        each.cut()
    ours, theirs = (each.collect(THETAS, actions(25)) for each in (engine, native))
    for one, two in zip(ours, theirs, strict=True):
        assert_array_equal(one.observation[:, ::LIMIT], two.observation[:, ::LIMIT])


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e11])
def test_a_world_that_breaks_down_ends_its_own_episode_and_no_other(engine, value, caplog):
    engine.collect(THETAS, actions(25))
    before = engine._carry
    whole = engine.collect(THETAS, actions(25, 1))
    after = snapshots(engine)
    pose = before.moving.pose
    # Environment 1 of run 1: the simulations are counted through the runs of each environment.
    broken = replace(pose, qvel=pose.qvel.at[3 * 1 + 1, 0].set(value))
    engine._carry = replace(before, moving=replace(before.moving, data=broken))
    found = engine.collect(THETAS, actions(25, 1))

    one, old = found[0], whole[0]
    assert one.terminated[1, 0, 1]
    assert one.reward[1, 0, 1] == -10.0
    assert_array_equal(one.cost[1, 0, 1], 1.0)
    assert_array_equal(one.next_observation[1, 0, 1, :-1], one.observation[1, 0, 1, :-1])
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))
    assert int(one.terminated.sum()) == int(old.terminated.sum()) + 1

    (divergence,) = engine.divergences
    # 25 steps were two whole episodes of nine and seven steps of the third.
    assert (divergence.env, divergence.seed, divergence.episode, divergence.step) == (1, SEED, 2, 8)
    assert f"environment 1 (seed {SEED}, episode 2, step 8)" in caplog.text

    assert_same(found[1], whole[1])
    others = np.array([[True, True], [True, False]])
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(old), strict=True):
        assert_array_equal(np.moveaxis(np.asarray(a), 1, 2)[others], np.moveaxis(np.asarray(b), 1, 2)[others])
    for run in (0, 2):
        assert_same(engine.snapshots()(run), after[run])
    # The next episode is the one that would have come anyway, a step or two later.
    assert_array_equal(one.observation[1, 1, 1], old.observation[1, 2, 1])


def still(physics, mesh):
    """Robots that never move: compiled in a moment."""
    return lambda moving, actions: moving, physics.reset


@slow("the comparison with the native engine always runs")
@pytest.mark.parametrize("limit", [1, 2])
def test_no_episode_is_missing_or_played_twice_however_many_end(monkeypatch, limit):
    """With episodes of one step, more end in a chunk than are left of those drawn ahead."""
    monkeypatch.setattr(module, "over_devices", still)
    task = task_of("Point-4-Hazard", limit)
    engine, native = MjxEngine(task, 2, "jax"), NativeEngine(task, 2, 1)
    redone = []
    for each in (engine, native):
        each.start([RunBatch(ScriptedActor(), (5,))])
    draw = engine._draw_upcoming
    monkeypatch.setattr(engine, "_draw_upcoming", lambda after: redone.append(np.asarray(after)) or draw(after))
    for steps in (25, 10, 60, 10):
        noise = np.zeros((1, steps, 2, 2), np.float32)
        (ours,), (theirs,) = (each.collect([jnp.zeros((1, 1))], [noise]) for each in (engine, native))
        assert_array_equal(ours.done, theirs.done)
        # What is seen first in an episode is its layout's doing alone.
        first = begins(theirs, limit)
        assert_array_equal(np.asarray(ours.observation)[first], np.asarray(theirs.observation)[first])
        if steps == 25:
            for each in (engine, native):
                each.cut()
    assert_array_equal(engine._carry.episodes[:, 0], native.episodes)
    assert native.episodes.min() == {1: 106, 2: 53}[limit]
    assert len(redone) > 2


def begins(rollout, limit):
    """Where the first step of an episode is; of the first one only if all episodes have a single step."""
    done = np.asarray(rollout.done)
    return np.concatenate([np.full_like(done[:, :1], limit == 1), done[:, :-1]], axis=1)


def test_augmentations_are_reset_with_each_episode(engine):
    rollout = engine.collect(THETAS, actions(25))[0]
    assert_array_equal(rollout.observation[:, ::LIMIT, :, -1], 0.0)


def test_a_suite_that_jax_cannot_simulate_is_refused_with_a_message():
    with pytest.raises(Unserved, match=r"in jax cannot simulate Point-8-Pillar.*Use --engine native, or Warp"):
        MjxEngine(task_of("Point-8-Pillar"), 2, "jax")


def test_no_environment_at_all_is_refused():
    with pytest.raises(ValueError, match="ask for at least one"):
        MjxEngine(task_of("Point-1-Hazard"), 0, "jax")


@pytest.mark.parametrize(
    ("suite", "joint", "others"),
    [("Drone-8-3DHazard", 4, (3, 5)), ("Walker-8-Hazard", 1, (0, 2)), ("Humanoid-8-Hazard", 1, (0, 2))],
)
def test_models_in_single_precision_have_sound_mass_matrices_at_parallel_joints(suite, joint, others):
    model = task_of(suite).model
    smallest = []
    for each in (model, in_single_precision(model)):
        data, M = mujoco.MjData(each), np.zeros((each.nv, each.nv))
        data.qpos[joint] = np.pi / 2
        mujoco.mj_forward(each, data)
        mujoco.mj_fullM(each, data, M)
        two = M[np.ix_(others, others)]
        smallest.append(np.linalg.eigvalsh(two)[0] / two.max())
    assert smallest[0] < np.finfo(np.float32).eps < 100 * np.finfo(np.float32).eps < smallest[1] < 1e-3


@slow("compiles for minutes")
@pytest.mark.parametrize("suite", ["Point-8-Ghost", "Drone-8-3DHazard", "Swimmer-8-Hazard", "Arm3-8-Hazard"])
def test_other_robots_move_as_in_the_native_engine(suite):
    """Where robots are, and their path. Stiff motors make accelerations of what single precision rounds."""
    task = task_of(suite)
    physics, simulator = Physics(task, "jax"), Simulator(task, 2, 1)
    simulator.reset(np.arange(2), np.zeros((2, 0, 3)))
    moving, step = physics.begin(jnp.zeros((2, 0, 3))), jax.jit(physics.step)
    rng = np.random.default_rng(0)
    for _ in range(3):
        action = rng.uniform(-1, 1, (2, task.suite.robot.actions)).astype(np.float32)
        simulator.step(action)
        moving = step(moving, action)
        for name in ("position", "attitude", "joint_position", "path"):
            where = task.plan.offsets[name]
            assert_allclose(moving.sensors[:, where], simulator.sensors[:, where], atol=1e-4, err_msg=name)
