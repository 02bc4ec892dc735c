"""Scene replay in every engine that supports it: which scenes are replayed, when, and that they are the same."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.engines.contract import RunBatch, SceneReplayer, check_replay
from ascpo.engines.functional import FunctionalEngine
from ascpo.engines.gymnasium.engine import GymnasiumEngine
from ascpo.engines.mjx.engine import MjxEngine
from ascpo.engines.native.engine import NativeEngine
from ascpo.engines.replay import FRESH, Rule, SceneChoice, choose_slots, empty_slots
from ascpo.engines.settings import ReplaySettings
from ascpo.environments.spaces import make_task
from ascpo.errors import InertSetting
from ascpo.seeding import Purpose, replay_seeds, reset_seed, seed_of
from tests.engines.test_gymnasium import ONE, Walk
from tests.engines.test_mjx import BATCHES as BY_NOISE
from tests.engines.test_mjx import THETAS as NO_THETAS
from tests.engines.test_mjx import actions
from tests.engines.test_runs import BATCHES, ENVS, THETAS, assert_same, noises, started
from tests.slow import slow
from tests.toys import Corridor

HALF = ReplaySettings(share=0.5, pool=4)
AGAIN = [replace(BATCHES[0], replay=HALF), BATCHES[1]]
"""Two runs that play scenes again, and one beside them that does not."""
POOLS = [np.array([[[0, 1], [1, 0], [1, 2], [FRESH] * 2], [[1, 1], [1, 0], [0, 0], [0, 2]]], np.int32), None]
SUITE = "Point-4-Pillar"


def begins(rollout):
    """Where episodes begin, of those that do so within the rollout."""
    return np.concatenate([np.zeros_like(rollout.done[:, :1]), rollout.done[:, :-1]], axis=1)


def two_rollouts(engine, thetas=THETAS):
    """Fresh scenes alone, then some of the pools."""
    first = engine.collect(thetas, noises(0, 60))
    engine.offer(POOLS)
    return first, engine.collect(thetas, noises(1, 90))


@pytest.fixture(scope="module")
def played():
    engine = started(SUITE, AGAIN)
    return engine, *two_rollouts(engine)


def choices(share, slots, episodes=2000, run=0, vacant=()):
    rule = Rule.of(ReplaySettings(share, slots), run, 4)
    pool = np.zeros((slots, 2), np.int32)
    pool[list(vacant)] = FRESH
    return np.stack([np.asarray(choose_slots(rule, np.full(4, n, np.int32), pool)) for n in range(episodes)])


def test_the_given_share_of_episodes_are_replays_and_all_scenes_are_equally_likely():
    found = choices(0.25, 4)
    n = found.size
    assert_allclose(np.mean(found >= 0), 0.25, atol=4 * (0.25 * 0.75 / n) ** 0.5)
    counts = np.bincount(found[found >= 0], minlength=4)
    assert_allclose(counts, n / 16, atol=4 * (n / 16) ** 0.5)


def test_an_environment_that_draws_an_empty_slot_plays_a_fresh_scene():
    whole, partly = choices(0.25, 4, 300), choices(0.25, 4, 300, vacant=(1, 3))
    assert_array_equal(partly, np.where(np.isin(whole, (1, 3)), FRESH, whole))


@pytest.mark.parametrize("slots", [1, 4, 5])
def test_even_environments_play_even_slots_and_odd_ones_odd_slots(slots):
    found = choices(0.9, slots, 300)
    for env in range(4):
        expected = set(range(slots)[env % 2 :: 2]) or {0}
        assert set(found[:, env]) - {FRESH} == expected


def test_runs_and_environments_draw_slots_with_their_own_seeds():
    one, other = choices(0.5, 1, 300), choices(0.5, 1, 300, run=1)
    columns = {tuple(column) for column in (*one.T, *other.T)}
    assert len(columns) == 8
    seeds = replay_seeds(7, 3)
    assert_array_equal(seeds, [seed_of(Purpose.SCENE_REPLAY, 7, env) for env in range(3)])


def test_on_the_host_fresh_episodes_are_counted_and_replays_are_named():
    choice = SceneChoice(ReplaySettings(0.9, 1), 3, 2)
    choice.begin(np.arange(2))
    assert_array_equal(choice.scenes, [[0, 1], [0, 0], [FRESH, FRESH]])
    choice.offer(np.array([[1, 0]], np.int32))
    seen = []
    for _ in range(40):
        expected = choice.slots[0]
        choice.begin(np.array([0]))
        seen.append(tuple(choice.scenes[:, 0]))
        assert seen[-1][2] == expected
    fresh = [number for env, number, slot in seen if slot == FRESH]
    assert fresh == list(range(1, 1 + len(fresh)))
    assert {scene for scene in seen if scene[2] != FRESH} == {(1, 0, 0)}
    assert (int(choice.begun[0]), int(choice.fresh[0]), int(choice.begun[1])) == (41, len(fresh), 1)


def test_a_pool_without_a_share_is_refused():
    with pytest.raises(InertSetting, match=r"replay\.pool=8 changes nothing"):
        ReplaySettings(pool=8)
    assert empty_slots(ReplaySettings(0.1, 8)).shape == (8, 2)


def test_fresh_episodes_are_the_same_as_without_replay(played):
    """In order, and none is left out."""
    _, *rollouts = played
    scene = jax.tree.map(lambda *x: np.concatenate(x, axis=1), *(one.scene for one, _ in rollouts))
    begun = np.concatenate([begins(one) for one, _ in rollouts], axis=1)
    for run in range(2):
        for env in range(ENVS):
            mine = begun[run, :, env] & (scene.slot[run, :, env] == FRESH)
            assert_array_equal(scene.number[run, mine, env], np.arange(1, 1 + mine.sum()))
            assert_array_equal(scene.env[run, mine, env], env)
            assert mine.sum() > 5
    assert (begun & (scene.slot >= 0)).sum(axis=(1, 2)).all()


def test_a_replay_begins_bit_for_bit_where_its_scene_began(played):
    _, (first, other), (second, _) = played
    assert other.scene is None
    fresh = {}
    for rollout in (first, second):
        scene, start = rollout.scene, begins(rollout)
        start[:, 0] |= rollout is first
        for run, t, env in np.argwhere(start & (scene.slot == FRESH)):
            fresh[run, scene.env[run, t, env], scene.number[run, t, env]] = rollout.observation[run, t, env]
    again = np.argwhere(begins(second) & (second.scene.slot >= 0))
    assert len(again) > 10
    for run, t, env in again:
        where = (run, second.scene.env[run, t, env], second.scene.number[run, t, env])
        assert_array_equal(second.observation[run, t, env], fresh[where])
        assert_array_equal(POOLS[0][run, second.scene.slot[run, t, env]], where[1:])


def test_a_replayed_scene_has_the_seed_of_a_training_scene_of_its_own_run(played):
    engine, *_, (second, _) = played
    for run, seed in enumerate((3, 700)):
        lane = engine._batches[0][run]
        envs = lane.scenes[0]
        assert_array_equal(lane.schedule.seeds, [seed_of(Purpose.TRAINING, seed, int(env)) for env in envs])
        assert_array_equal(lane.schedule.episodes, lane.scenes[1])
    assert set(np.unique(second.scene.env)) == {0, 1}


def test_a_run_replays_the_same_scenes_alone_and_beside_others(played):
    _, *together = played
    for run in range(2):
        batch = replace(AGAIN[0], seeds=AGAIN[0].seeds[run : run + 1])
        engine, own = started(SUITE, [batch]), slice(run, run + 1)
        for number, steps in enumerate((60, 90)):
            (alone,) = engine.collect([THETAS[0][own]], [noises(number, steps)[0][own]])
            assert_same(alone, jax.tree.map(lambda x, own=own: x[own], together[number][0]))
            engine.offer([POOLS[0][own]])


def test_a_run_continues_from_a_snapshot_with_its_pool():
    engine = started(SUITE, AGAIN)
    two_rollouts(engine)
    snapshots = [engine.snapshots()(run) for run in range(3)]
    assert {"pool", "scenes", "begun", "fresh"} <= snapshots[0].keys()
    assert not {"pool", "scenes", "begun", "fresh"} & snapshots[2].keys()
    expected = engine.collect(THETAS, noises(2, 40))
    other = started(SUITE, AGAIN)
    other.restore(snapshots)
    assert_same(other.collect(THETAS, noises(2, 40)), expected)
    for each in (engine, other):
        each.cut()
    assert_same([other.snapshots()(run) for run in range(3)], [engine.snapshots()(run) for run in range(3)])
    assert (expected[0].scene.slot >= 0).any()


def test_episodes_that_are_cut_are_followed_by_replays_as_well():
    engine = started(SUITE, AGAIN)
    engine.offer(POOLS)
    slots = []
    for _ in range(12):
        engine.cut()
        slots.append(engine._batches[0][1].scenes[2].copy())
    assert 0.2 < np.mean(np.array(slots) >= 0) < 0.8


def test_an_environment_of_a_user_is_reset_with_the_seed_of_the_scene():
    engine = GymnasiumEngine(Walk, 2)
    engine.start([RunBatch(ONE, (5,), replay=HALF)])
    pool = np.array([[[0, 1], [1, 0], [1, 2], [0, 0]]], np.int32)
    theta, noise = [jnp.array([[0.4, -0.7]])], np.random.default_rng(0).standard_normal((1, 100, 2, 1))
    engine.collect(theta, [noise.astype(np.float32)])
    engine.offer([pool])
    before = engine.snapshots()(0)
    (rollout,) = engine.collect(theta, [noise.astype(np.float32)])
    scene, start = rollout.scene, begins(rollout)
    assert 0.2 < (scene.slot >= 0)[start].mean() < 0.8
    for _, t, env in np.argwhere(start):
        seed = reset_seed(seed_of(Purpose.TRAINING, 5, int(scene.env[0, t, env])), int(scene.number[0, t, env]))
        first, _ = Walk().reset(seed=seed)
        assert_array_equal(rollout.observation[0, t, env, :2], first.ravel().astype(np.float32))
    after = engine.snapshots()(0)
    engine.start([RunBatch(ONE, (5,), replay=HALF)])
    engine.restore([before])
    assert_same(engine.collect(theta, [noise.astype(np.float32)]), [rollout])
    assert_same(engine.snapshots()(0), after)


def test_an_engine_whose_scenes_have_no_seeds_refuses_scene_replay():
    engine = FunctionalEngine(Corridor(), 2)
    with pytest.raises(ValueError, match="FunctionalEngine cannot replay scenes"):
        check_replay(engine, AGAIN)
    check_replay(engine, BATCHES)
    native = NativeEngine(make_task(SUITE, "paper", "closest", 9), 6, 1)
    assert isinstance(native, SceneReplayer)
    assert isinstance(GymnasiumEngine(Walk, 2), SceneReplayer)
    check_replay(native, AGAIN)


@slow("compiles the physics")
def test_mjx_replays_the_scenes_of_the_native_engine_and_continues_from_snapshots():
    task, batches = make_task("Point-1-Ghost", "paper", "closest", 9), [replace(BY_NOISE[0], replay=HALF), BY_NOISE[1]]
    mjx, native = MjxEngine(task, ENVS, "jax"), NativeEngine(task, 3 * ENVS, 1)
    for engine in (mjx, native):
        engine.start(batches)
    for number in range(3):
        ours, theirs = (engine.collect(NO_THETAS, actions(25, number)) for engine in (mjx, native))
        assert_same(ours[0].scene, theirs[0].scene)
        assert ours[1].scene is None
        start = begins(theirs[0])
        assert_array_equal(np.asarray(ours[0].observation)[start], theirs[0].observation[start])
        for engine in (mjx, native):
            engine.offer(POOLS)
            if number == 1:
                engine.cut()
    assert (theirs[0].scene.slot >= 0).any()
    snapshots = [mjx.snapshots()(run) for run in range(3)]
    expected, after = mjx.collect(NO_THETAS, actions(25, 3)), [mjx.snapshots()(run) for run in range(3)]
    mjx.start(batches)
    mjx.restore([{name: np.asarray(x) for name, x in each.items()} for each in snapshots])
    assert_same(mjx.collect(NO_THETAS, actions(25, 3)), expected)
    assert_same([mjx.snapshots()(run) for run in range(3)], after)
