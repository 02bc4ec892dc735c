"""The contract of engines, tested with the native and the functional engine."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ascpo
from ascpo.engines.actor import Actor, ScriptedActor, augment, remember, signed_cost
from ascpo.engines.contract import Engine, EpisodePlayer, RunBatch, scaled
from ascpo.engines.functional import FunctionalEngine
from ascpo.engines.gymnasium.engine import GymnasiumEngine
from ascpo.engines.native.engine import NativeEngine
from ascpo.environments.spaces import make_task
from tests.actors import ToyActor, running_maxima
from tests.own import Cart
from tests.slow import always
from tests.toys import Corridor

ENVS, STEPS = 4, 300
TASK = make_task("Point-8-Hazard", "paper", "closest", 120)


def act(theta, observation, noise):
    """Act by theta, the noise, and the last number of the observation, which is the augmentation."""
    return jnp.tanh(theta[: len(noise)] + noise + 0.0 * observation[-1])


def walk(theta, observation, noise):
    return theta[:2] + noise


POINT, LINE = ToyActor(act, maxima=1), ToyActor(walk, maxima=2)


def noise(action_size, seed=0, steps=STEPS):
    return np.random.default_rng(seed).standard_normal((steps, ENVS, action_size)).astype(np.float32)


def engines():
    return {"native": NativeEngine(TASK, ENVS, 1), "functional": FunctionalEngine(Corridor(), ENVS)}


THETA = jnp.array([1.0, 0.1])


@pytest.fixture(params=["native", "functional"])
def engine(request):
    return engines()[request.param]


def start(engine):
    engine.start([RunBatch(POINT if isinstance(engine, NativeEngine) else LINE, (3,))])


def collect(engine, noise, theta=THETA):
    """The rollout of the only run, without its axis."""
    (rollout,) = engine.collect([theta[None]], [noise[None]])
    return jax.tree.map(lambda x: np.asarray(x[0]), rollout)


def collected(engine, seed=0):
    start(engine)
    return collect(engine, noise(engine.action_size, seed))


def test_both_engines_follow_the_protocol_and_say_how_many_runs_they_take(engine):
    assert isinstance(engine, Engine)
    assert isinstance(engine, EpisodePlayer)
    assert engine.max_runs is None
    start(engine)
    assert engine.envs_per_run == ENVS


def test_the_first_axis_of_a_rollout_is_the_runs(engine):
    start(engine)
    (rollout,) = engine.collect([THETA[None]], [noise(engine.action_size, steps=7)[None]])
    assert rollout.reward.shape == (1, 7, ENVS)


def test_the_native_engine_returns_views_of_what_its_programs_wrote():
    engine = NativeEngine(TASK, ENVS, 1)
    start(engine)
    (rollout,) = engine.collect([THETA[None]], [noise(2, steps=7)[None]])
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(rollout))
    assert rollout.observation.base is not None
    assert rollout.observation.base is rollout.reward.base


def test_more_runs_than_an_engine_takes_are_refused_with_a_message():
    engine = GymnasiumEngine(Cart, ENVS)
    with pytest.raises(ValueError, match=r"one run at a time, not 2\. Start one run"):
        engine.start([RunBatch(LINE, (0, 1))])


def test_the_observation_after_a_step_is_the_one_before_the_next_unless_an_episode_ended(engine):
    r = collected(engine)
    same = ~r.done[:-1]
    assert same.any()
    assert not same.all()
    assert_allclose(r.next_observation[:-1][same], r.observation[1:][same], atol=1e-6)


def test_running_maxima_are_the_last_numbers_of_an_observation(engine):
    r = collected(engine)
    m = r.cost.shape[-1]
    M, M_next = running_maxima(r.cost, r.done)
    assert M_next.max() > 0
    assert_allclose(r.observation[..., -m:], M, atol=1e-6)
    assert_allclose(r.next_observation[..., -m:], M_next, atol=1e-6)


def test_a_step_never_ends_in_both_ways(engine):
    r = collected(engine)
    assert not (r.terminated & r.truncated).any()


def test_episodes_continue_from_one_collect_to_the_next(engine):
    whole = collected(engine)
    start(engine)
    half = noise(engine.action_size)
    parts = [collect(engine, half[:17]), collect(engine, half[17:])]
    joined = jax.tree.map(lambda a, b: np.concatenate([a, b]), *parts)
    if isinstance(engine, NativeEngine):
        for a, b in zip(jax.tree.leaves(joined), jax.tree.leaves(whole), strict=True):
            assert_allclose(a, b, atol=1e-5)
    assert_array_equal(joined.observation[17], parts[1].observation[0])
    ended = parts[0].done[-1]
    assert_allclose(parts[1].observation[0][~ended], parts[0].next_observation[-1][~ended], atol=1e-6)


def test_a_cut_begins_new_episodes_with_the_initial_augmentation(engine):
    collected(engine)
    engine.cut()
    r = collect(engine, noise(engine.action_size))
    assert_array_equal(r.observation[0, :, -1], 0.0)


def test_the_native_engine_collects_the_same_episodes_as_its_gymnasium_environment():
    engine = NativeEngine(TASK, ENVS, 1)
    # Users' seeds have no purpose, as all seeds of version 1.
    engine.start([RunBatch(POINT, (3,), seeding=1)])
    r = collect(engine, noise(engine.action_size))
    env = ascpo.make_vec("Point-8-Hazard", num_envs=ENVS, max_episode_steps=120)
    observation, _ = env.reset(seed=3)
    for t in range(STEPS):
        assert_allclose(r.observation[t, :, :-1], observation, atol=1e-5)
        observation, reward, terminated, truncated, info = env.step(np.asarray(r.action[t]))
        assert_allclose(r.reward[t], reward, atol=1e-5)
        assert_allclose(r.cost[t, :, 0], info["cost"], atol=1e-5)
        assert_array_equal(r.terminated[t], terminated)
        assert_array_equal(r.truncated[t], truncated & ~terminated)


def test_actions_come_from_the_actor_with_the_observation_and_the_noise():
    r = collected(NativeEngine(TASK, ENVS, 1))
    assert_allclose(r.action, jnp.tanh(THETA + noise(2)), atol=1e-6)


GOING_ON = ["Point-8-Hazard", "Point-4-Pillar", "Point-4-Ghost", "Drone-1-3DHazard"]


@pytest.mark.parametrize("suite", always(GOING_ON, "Point-4-Ghost"))
def test_a_native_engine_continues_bit_for_bit_from_a_snapshot(suite):
    """The snapshot is in the middle of episodes, some of which end, so that new layouts are drawn."""
    task = make_task(suite, "paper", "closest", 120)
    goes_on_from_a_snapshot(lambda: NativeEngine(task, ENVS, 1))


def test_a_functional_engine_continues_bit_for_bit_from_a_snapshot():
    goes_on_from_a_snapshot(lambda: FunctionalEngine(Corridor(), ENVS))


def goes_on_from_a_snapshot(make):
    whole, other = make(), make()
    theta = jnp.full(6, 0.3)
    start(whole)
    for steps in (70, 150):
        collect(whole, noise(whole.action_size, steps=steps), theta)
    snapshot = whole.snapshots()(0)
    expected = collect(whole, noise(whole.action_size, seed=9, steps=200), theta)
    start(other)
    other.restore([snapshot])
    found = collect(other, noise(whole.action_size, seed=9, steps=200), theta)
    for one, two in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        assert_array_equal(one, two)
    assert bool(expected.done.any())


def test_actions_are_scaled_to_bounds_if_there_are_any():
    low, high = np.array([-2.0, 0.0, -np.inf], np.float32), np.array([2.0, 10.0, 1.0], np.float32)
    drawn = np.array([[0.5, -1.0, 7.0], [3.0, 0.0, -7.0]], np.float32)
    assert_allclose(scaled(drawn, low, high), [[1.0, 0.0, 7.0], [2.0, 5.0, -7.0]])


def test_actors_are_equal_by_value():
    assert isinstance(POINT, Actor)
    assert isinstance(ScriptedActor(), Actor)
    assert (ScriptedActor(), hash(ScriptedActor())) == (ScriptedActor(), hash(ScriptedActor()))
    assert ToyActor(act, maxima=1) == POINT != LINE


def test_an_augmentation_is_kept_until_the_episode_ends():
    for done, following in ((False, [0.2, 0.9]), (True, [0.0, 0.0])):
        after, augmentation = remember(LINE, jnp.array([0.2, 0.5]), jnp.array([0.1, 0.9]), None, jnp.asarray(done))
        assert_allclose(after, [0.2, 0.9])
        assert_allclose(augmentation, following)


@pytest.mark.parametrize("xp", [np, jnp])
def test_the_augmentation_comes_after_the_raw_observation(xp):
    found = augment(xp.ones((3, 2)), xp.zeros((3, 1)))
    assert type(found) is type(xp.ones(1))
    assert_array_equal(found, [[1.0, 1.0, 0.0]] * 3)


def test_a_signed_cost_is_the_cost_or_a_negative_margin():
    cost, margins = np.array([0.0, 0.0, 0.2, 1.0]), np.array([-0.4, 0.1, 0.2, -0.01])
    assert_array_equal(signed_cost(cost, margins), [-0.4, 0.0, 0.2, 1.0])
    assert signed_cost(cost, None) is cost


def test_a_suite_has_margins_and_a_world_with_costs_only_has_none():
    for engine in engines().values():
        start(engine)
        rollout = collect(engine, noise(2, steps=40))
        assert engine.has_margins == isinstance(engine, NativeEngine)
        if engine.has_margins:
            assert_allclose(np.maximum(rollout.signed_cost, 0.0), rollout.cost, atol=1e-6)
            assert ((rollout.signed_cost > 0.0) == (rollout.cost > 0.0)).all()
            assert rollout.signed_cost.min() < -0.1
        else:
            assert rollout.signed_cost is None
