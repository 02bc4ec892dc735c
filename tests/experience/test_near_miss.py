import jax.numpy as jnp
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.experience.near_miss import begin_near_miss

SIGNED = jnp.array([-0.5, -0.04, -0.06, 0.2])[:, None, None]
DONE = jnp.array([False, False, True, False])[:, None]


def test_with_near_misses_costs_begin_earlier():
    begun = begin_near_miss(0.1, 0.1, epochs=5, num_envs=1, m=1)
    assert_allclose(begun.extended_cost(SIGNED)[:, 0, 0], [0.0, 0.06, 0.04, 0.3], rtol=1e-6)


def test_maxima_and_sums_use_the_near_miss_costs_and_continue_in_the_next_epoch():
    begun = begin_near_miss(0.1, 0.1, epochs=5, num_envs=1, m=1)
    extended = begun.extended_cost(SIGNED)
    maxima, sums = begun.maxima(extended, DONE), begun.sums(extended, DONE)
    assert_allclose(maxima[1][:, 0, 0], [0.0, 0.06, 0.06, 0.3], rtol=1e-6)
    assert_allclose(sums[1][:, 0, 0], [0.0, 0.06, 0.1, 0.3], rtol=1e-6)
    after = begun.after(maxima[1][-1], sums[1][-1], DONE[-1])
    again = after.maxima(after.extended_cost(jnp.array([-0.05])[:, None, None]), jnp.zeros((1, 1), bool))
    assert_allclose([again[0][0, 0, 0], again[1][0, 0, 0]], [0.3, 0.3], rtol=1e-6)


def test_an_episode_that_ends_with_an_epoch_leaves_no_maxima_or_sums():
    begun = begin_near_miss(0.1, 0.1, epochs=5, num_envs=1, m=1)
    after = begun.after(jnp.ones((1, 1)), jnp.ones((1, 1)), jnp.array([True]))
    assert_array_equal(after.max_cost, [[0.0]])
    assert_array_equal(after.cost, [[0.0]])
    assert_array_equal(begun.after(jnp.ones((1, 1)), jnp.ones((1, 1)), jnp.array([False])).cut().cost, [[0.0]])


def test_the_near_miss_distance_shrinks_linearly_and_stays_at_its_end_value():
    now, found = begin_near_miss(0.1, 0.04, epochs=4, num_envs=1, m=1), []
    for _ in range(6):
        found.append(float(now.h))
        now = now.after(now.max_cost, now.cost, jnp.array([False]))
    assert_allclose(found, [0.1, 0.08, 0.06, 0.04, 0.04, 0.04], rtol=1e-5)
