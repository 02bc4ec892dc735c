"""Scene replay: which scenes are kept, and that importance weights correct for the replays."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.engines.replay import FRESH, Scene, SceneChoice
from ascpo.engines.settings import ReplaySettings
from ascpo.experience.scene_replay import SOLVED, Tally, empty_pool, fresh_part, step_weights
from tests.slow import always, slow

SETTINGS = ReplaySettings(share=0.4, pool=4)
SMOOTHING = 0.5


def scenes(*rows):
    """(environment, number, slot) of every step, rows of one environment after the other: [time, env]."""
    return Scene(*(jnp.asarray(np.array(rows, np.int32)[..., i], jnp.int32) for i in range(3)))


def fresh(*numbers):
    """One environment, an episode a step."""
    return scenes(*[[(0, n, FRESH)] for n in numbers])


def column(*flags):
    return jnp.asarray(np.array(flags)[:, None], bool)


weights_of = jax.jit(step_weights, static_argnums=3)


@jax.jit
def after(pool, scene, violated, done=None):
    done = jnp.ones_like(violated) if done is None else done
    return pool.after(scene, done, violated, SMOOTHING)


@slow("compiles")
def test_violating_fresh_episodes_enter_the_pool_and_replace_the_oldest():
    pool = after(empty_pool(SETTINGS), fresh(0, 1, 2), column(True, False, True))
    assert_array_equal(pool.scene, [[0, 0], [0, 2], [FRESH] * 2, [FRESH] * 2])
    assert_array_equal(pool.offered, pool.scene)
    pool = after(pool, fresh(3, 4, 5), column(True, True, True))
    assert_array_equal(pool.scene[:, 1], [5, 2, 3, 4])
    pool = after(pool, fresh(*range(6, 12)), column(*[True] * 6))
    assert sorted(pool.scene[:, 1].tolist()) == [8, 9, 10, 11]
    assert int(pool.oldest) == (5 + 6) % 4


def test_an_episode_enters_the_pool_when_it_is_done():
    pool = after(empty_pool(SETTINGS), fresh(0, 0, 1), column(True, True, True), done=column(False, True, False))
    assert_array_equal(pool.scene[:, 1], [0, FRESH, FRESH, FRESH])


def with_scenes(*numbers, **fields):
    scene = jnp.array([[0, n] if n >= 0 else [FRESH] * 2 for n in numbers], jnp.int32)
    return replace(empty_pool(ReplaySettings(0.4, len(numbers))), scene=scene, **fields)


def test_replays_are_counted_by_slot_and_a_solved_scene_leaves_the_pool():
    pool = with_scenes(7, 8, 9, FRESH, safe=jnp.array([0, SOLVED - 1, SOLVED - 2, 0]))
    again = scenes(*[[(0, n, slot)] for n, slot in ((7, 0), (8, 1), (7, 0), (9, 2), (9, 2), (7, 0))])
    pool = after(pool, again, column(False, False, True, True, False, False))
    assert_array_equal(pool.plays, [3, 1, 2, 0])
    assert_array_equal(pool.violations, [1, 0, 1, 0])
    # Safe since the last violation: one, all, one.
    assert_array_equal(pool.safe, [1, SOLVED, 1, 0])
    assert_array_equal(pool.live, [True, False, True, False])
    assert_array_equal(pool.offered[:, 1], [7, FRESH, 9, FRESH])
    assert_array_equal(pool.scene[:, 1], [7, 8, 9, FRESH])


def test_a_replay_whose_slot_has_another_scene_by_now_is_not_counted():
    pool = with_scenes(7, 8)
    again = scenes([(0, 5, 0)], [(0, 8, 1)], [(0, 9, FRESH)])
    assert_array_equal(pool.holds(again), [[False], [True], [False]])
    found = after(pool, again, column(True, True, False))
    assert_array_equal(found.plays, [0, 1])
    # It was a replay all the same.
    assert_allclose([found.again.ended, found.again.violated, found.fresh.ended], [2.0, 2.0, 1.0])


def test_a_scene_that_enters_again_has_no_statistics():
    pool = with_scenes(7, 8, plays=jnp.array([5, 6]), violations=jnp.array([2, 3]), safe=jnp.array([1, SOLVED]))
    pool = after(pool, fresh(9), column(True))
    assert_array_equal(pool.scene[:, 1], [9, 8])
    assert_array_equal(pool.plays, [0, 6])
    assert_array_equal(pool.safe, [0, SOLVED])


def test_rates_and_lengths_are_of_decayed_sums():
    tally = Tally(*map(jnp.float32, (8.0, 2.0, 1.0)))
    which, done = column(True, True, True, False), column(False, True, True, True)
    found = tally.after(which, done, column(True, False, True, True), 0.5)
    assert_allclose([found.steps, found.ended, found.violated], [7.0, 3.0, 1.5])
    assert_allclose(found.violation_rate, 2.0 / 4.0)
    assert_allclose([found.length(jnp.float32(100)), found.length(jnp.float32(2))], [7 / 3, 2.0], rtol=1e-6)


def test_the_prior_from_all_replays_counts_as_two_replays_of_a_scene():
    again = Tally(*map(jnp.float32, (0.0, 9.0, 3.5)))
    pool = with_scenes(0, 1, plays=jnp.array([0, 8]), violations=jnp.array([0, 1]), again=again)
    assert_allclose(pool.q, [0.4, (1 + 0.8) / 10], rtol=1e-6)


@pytest.mark.parametrize(("r", "h"), [(0.4, 0.12), (0.1, 0.5), (0.9, 0.01)])
def test_the_weight_of_fresh_episodes_minimises_the_variance(r, h):
    """x²/(1 − r) + (1 − x)²·h/r, as a multiple of v over the number of episodes."""
    x = float(fresh_part(jnp.float32(r), jnp.float32(h)))
    variance = lambda x: x**2 / (1 - r) + (1 - x) ** 2 * h / r  # noqa: E731
    assert variance(x) < min(variance(x - 1e-3), variance(x + 1e-3))
    assert float(fresh_part(jnp.float32(0.0), jnp.float32(0.0))) == 1.0


P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.0, 0.2, 0.8])
"""Three kinds of scenes: how often there are, and with what probability each violates. v = 0.22."""
V = float(P @ Q)


def known_pool(solved=0):
    """22 scenes as p·q/v has them: 6 of the second kind, 16 of the third. q is known; of the third some are solved."""
    kinds = np.array([1] * 6 + [2] * 16)
    count = 10**6
    rates = Tally(*map(jnp.float32, (count, count, V * count)))
    pool = with_scenes(*range(22), plays=jnp.full(22, count), violations=jnp.array(Q[kinds] * count, jnp.int32))
    return kinds, replace(pool, fresh=rates, again=rates, safe=jnp.array([0] * (22 - solved) + [SOLVED] * solved))


@pytest.mark.parametrize(("share", "length"), always([(0.4, 1), (0.7, 1), (0.4, 3)], (0.4, 1)))
def test_with_known_probabilities_the_weighted_mean_is_that_of_fresh_scenes(share, length):
    """Of any f that is 0 where nothing violates. Replays are `length` steps long, fresh episodes one."""
    kinds, pool = known_pool()
    f = np.array([0.0, -3.0, 1.7])
    # Ten fresh episodes as p has them, and each scene of the pool once.
    drawn = np.repeat(np.arange(3), [5, 3, 2])
    rows = [(0, 1000 + i, FRESH) for i in range(10)] + [(0, i, i) for i in range(22) for _ in range(length)]
    per_step = np.concatenate([f[drawn], np.repeat(f[kinds] / length, length)])
    done = column(*[True] * 10, *([False] * (length - 1) + [True]) * 22)
    found = after(empty_pool(ReplaySettings(share, 22)), scenes(*[[row] for row in rows]), done & False, done)
    weights = weights_of(pool, found, scenes(*[[row] for row in rows]), share, jnp.float32(100))
    steps = len(rows)
    # The surrogates divide by steps / mean length of a fresh episode, which is 1.
    assert_allclose(np.sum(np.asarray(weights.cost)[:, 0] * per_step) / steps, P @ f, rtol=1e-4)
    assert_allclose(np.sum(np.asarray(weights.reward)[:10, 0]), steps, rtol=1e-6)
    assert_array_equal(weights.reward[10:], 0.0)
    assert_allclose(np.mean(weights.reward), 1.0, rtol=1e-6)


@slow("draws thousands of batches")
def test_solved_scenes_count_only_through_fresh_episodes():
    """The others count as before: the replays' mean stands for the part of the pool that is left."""
    _, pool = known_pool(solved=16)
    rows = [(0, 1000 + i, FRESH) for i in range(10)] + [(0, i, i) for i in range(22)]
    scene, ended = scenes(*[[row] for row in rows]), column(*[True] * 32)
    weights = weights_of(pool, after(pool, scene, ended & False), scene, 0.4, jnp.float32(100))
    cost = np.asarray(weights.cost)[:, 0] / 32
    assert_array_equal(cost[16:], 0.0)
    x = cost[0] * 10
    assert_allclose(x + np.sum(cost[10:16]) / P[1], 1.0, rtol=1e-3)
    assert 0.0 < x < 1.0


def test_without_replays_every_step_has_weight_one():
    scene = fresh(0, 1, 2)
    pool = empty_pool(SETTINGS)
    weights = weights_of(pool, after(pool, scene, column(True, False, True)), scene, 0.4, jnp.float32(1))
    assert_array_equal(weights.cost, 1.0)
    assert_array_equal(weights.reward, 1.0)


ENVS, TIME, EPOCHS = 10, 30, 400


@partial(jax.jit, static_argnums=1)
def epoch(pool, share, scene, violated):
    done = jnp.ones_like(violated)
    found = pool.after(scene, done, violated, 0.7)
    return found, step_weights(pool, found, scene, share, jnp.float32(1)).cost


def estimates(settings, theta, seed):
    """d v / d theta, epoch by epoch, of one-step episodes: scenes have logits, and violate with σ(logit + theta).

    The score of an episode is y − q, so that the mean of y·(y − q) is the mean of q·(1 − q).
    """
    rng = np.random.default_rng(seed)
    logits = np.where(rng.random((ENVS, 40_000)) < 0.15, rng.normal(0.0, 1.0, (ENVS, 40_000)), -8.0)
    q = 1 / (1 + np.exp(-logits - theta))
    choice, pool, found = SceneChoice(settings, seed, ENVS), empty_pool(settings), []
    everywhere = np.arange(ENVS)
    for _ in range(EPOCHS):
        choice.offer(np.asarray(pool.offered))
        played = []
        for _ in range(TIME):
            choice.begin(everywhere)
            played.append(choice.scenes.copy())
        env, number, slot = np.stack(played, axis=1)
        p = q[env, number]
        y = rng.random(p.shape) < p
        pool, weights = epoch(pool, settings.share, Scene(*map(jnp.asarray, (env, number, slot))), jnp.asarray(y))
        plain = np.mean((y * (y - p))[slot == FRESH])
        found.append((np.mean(np.asarray(weights) * y * (y - p)), plain, np.mean(y * (y - p))))
    return np.array(found)[50:], np.mean(q * (1 - q))


@slow("the test with known probabilities is exact and always runs")
def test_the_gradient_of_the_violation_probability_is_nearly_unbiased_and_less_noisy():
    """Probabilities are estimated from the replays themselves. Unweighted, replays would count several times."""
    found, truth = estimates(ReplaySettings(share=0.4, pool=64), 0.0, seed=0)
    (weighted, fresh_alone, unweighted), spread = found.mean(axis=0), found.std(axis=0)
    error = spread[0] / len(found) ** 0.5
    assert abs(weighted - truth) < 0.1 * truth + 3 * error
    assert unweighted > 2.0 * truth
    assert spread[0] < 0.7 * spread[1]
    assert_allclose(fresh_alone, truth, atol=3 * spread[1] / len(found) ** 0.5)
