"""What engines promise of a rollout, for the native and the functional one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ascpo
from ascpo.engines.functional import FunctionalEngine
from ascpo.engines.native import NativeEngine
from ascpo.engines.rollout import Actor, scaled
from ascpo.environments.spaces import make_task
from ascpo.experience.memory import MAXIMA, running_maximum
from tests.toys import Corridor

ENVS, STEPS = 4, 300
TASK = make_task("Point-8-Hazard", "paper", "closest", 120)


def act(theta, view, noise):
    """Goes where theta and the noise say, and looks at the last number of the view: the memory."""
    return jnp.tanh(theta[: len(noise)] + noise + 0.0 * view[-1])


def actor():
    return Actor(start=MAXIMA.start(1), after=MAXIMA.after, act=act)


def noise(action_size, seed=0, steps=STEPS):
    return np.random.default_rng(seed).standard_normal((steps, ENVS, action_size)).astype(np.float32)


def engines():
    return {"native": NativeEngine(TASK, ENVS, 1), "functional": FunctionalEngine(Corridor(), ENVS)}


THETA = jnp.array([1.0, 0.1])


@pytest.fixture(params=["native", "functional"])
def engine(request):
    return engines()[request.param]


def collected(engine, seed=0):
    engine.begin(actor() if isinstance(engine, NativeEngine) else line_actor(), 3)
    return engine.collect(THETA, noise(engine.action_size, seed))


def line_actor():
    return Actor(start=MAXIMA.start(2), after=MAXIMA.after, act=lambda theta, view, noise: theta[:2] + noise)


def test_the_view_after_a_step_is_the_view_before_the_next_unless_an_episode_ended(engine):
    r = collected(engine)
    same = ~np.asarray(r.done[:-1])
    assert same.any()
    assert not same.all()
    assert_allclose(np.asarray(r.next_view[:-1])[same], np.asarray(r.view[1:])[same], atol=1e-6)


def test_running_maxima_are_the_last_numbers_of_a_view(engine):
    r = collected(engine)
    m = r.cost.shape[-1]
    M, M_next = running_maximum(r.cost, r.done, jnp.zeros((ENVS, m)))
    assert float(M_next.max()) > 0
    assert_allclose(r.view[..., -m:], M, atol=1e-6)
    assert_allclose(r.next_view[..., -m:], M_next, atol=1e-6)


def test_a_step_never_ends_in_both_ways(engine):
    r = collected(engine)
    assert not bool(jnp.any(r.terminated & r.truncated))


def test_episodes_go_on_from_one_collect_to_the_next(engine):
    whole = collected(engine)
    engine.begin(actor() if isinstance(engine, NativeEngine) else line_actor(), 3)
    half = noise(engine.action_size)
    parts = [engine.collect(THETA, half[:17]), engine.collect(THETA, half[17:])]
    joined = jax.tree.map(lambda a, b: np.concatenate([a, b]), *parts)
    if isinstance(engine, NativeEngine):
        for a, b in zip(jax.tree.leaves(joined), jax.tree.leaves(whole), strict=True):
            assert_allclose(a, b, atol=1e-5)
    assert_array_equal(joined.view[17], parts[1].view[0])
    ended = np.asarray(parts[0].done[-1])
    assert_allclose(np.asarray(parts[1].view[0])[~ended], np.asarray(parts[0].next_view[-1])[~ended], atol=1e-6)


def test_a_cut_begins_new_episodes_without_memory(engine):
    collected(engine)
    engine.cut()
    r = engine.collect(THETA, noise(engine.action_size))
    assert_array_equal(r.view[0, :, -1], 0.0)


def test_the_native_engine_collects_what_its_gymnasium_face_steps_through():
    engine = NativeEngine(TASK, ENVS, 1)
    r = collected(engine)
    env = ascpo.make_vec("Point-8-Hazard", num_envs=ENVS, max_episode_steps=120)
    observation, _ = env.reset(seed=3)
    for t in range(STEPS):
        assert_allclose(r.view[t, :, :-1], observation, atol=1e-5)
        observation, reward, terminated, truncated, info = env.step(np.asarray(r.action[t]))
        assert_allclose(r.reward[t], reward, atol=1e-5)
        assert_allclose(r.cost[t, :, 0], info["cost"], atol=1e-5)
        assert_array_equal(r.terminated[t], terminated)
        assert_array_equal(r.truncated[t], truncated & ~terminated)


def test_an_action_is_what_the_actor_made_of_the_view_and_the_noise():
    r = collected(NativeEngine(TASK, ENVS, 1))
    assert_allclose(r.action, jnp.tanh(THETA + noise(2)), atol=1e-6)


@pytest.mark.parametrize("suite", ["Point-8-Hazard", "Point-4-Pillar", "Point-4-Ghost", "Drone-1-3DHazard"])
def test_a_native_engine_goes_on_bit_for_bit_from_a_snapshot(suite):
    """In the middle of episodes, some of which end, so that layouts are drawn ahead anew."""
    task = make_task(suite, "paper", "closest", 120)
    goes_on_from_a_snapshot(lambda: NativeEngine(task, ENVS, 1), actor())


def test_a_functional_engine_goes_on_bit_for_bit_from_a_snapshot():
    goes_on_from_a_snapshot(lambda: FunctionalEngine(Corridor(), ENVS), line_actor())


def goes_on_from_a_snapshot(make, actor):
    whole, other = make(), make()
    theta = jnp.full(6, 0.3)
    whole.begin(actor, 3)
    for steps in (70, 150):
        whole.collect(theta, noise(whole.action_size, steps=steps))
    snapshot = whole.snapshot()
    expected = whole.collect(theta, noise(whole.action_size, seed=9, steps=200))
    other.begin(actor, 3)
    other.restore(snapshot)
    found = other.collect(theta, noise(whole.action_size, seed=9, steps=200))
    for one, two in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        assert_array_equal(one, two)
    assert bool(expected.done.any())


def test_actions_are_scaled_to_the_bounds_and_left_alone_without():
    low, high = np.array([-2.0, 0.0, -np.inf], np.float32), np.array([2.0, 10.0, 1.0], np.float32)
    drawn = np.array([[0.5, -1.0, 7.0], [3.0, 0.0, -7.0]], np.float32)
    assert_allclose(scaled(drawn, low, high), [[1.0, 0.0, 7.0], [2.0, 5.0, -7.0]])
