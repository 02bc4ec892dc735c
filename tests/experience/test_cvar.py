"""The CVaR of the episodes' costs, and the signals that sum to the excess."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.experience.augmentation import LastCost, RunningSum, running_sum
from ascpo.experience.cvar import cost_tail, nu_of_episodes
from ascpo.experience.signals import Costs, excesses

NOTHING = jnp.zeros(1)
STEPS, ENVS = 5, 2
COSTS = hnp.arrays(np.float32, (STEPS, ENVS, 2), elements=st.floats(0, 1, width=32))
ENDS = hnp.arrays(bool, (STEPS, ENVS))


def finished(*costs):
    """Episodes that have all ended, one after another."""
    return jnp.array(costs)[:, None, None], jnp.ones((len(costs), 1), bool)


def cvar(Z, done, alpha):
    """The CVaR at the quantile of these episodes."""
    quantile = cost_tail(Z, done, jnp.zeros(Z.shape[-1]), alpha).quantile
    return cost_tail(Z, done, quantile, alpha).cvar(alpha)


@pytest.mark.parametrize(
    ("alpha", "worst"), [(0.5, [4.0, 3.0]), (0.75, [4.0]), (0.25, [4.0, 3.0, 2.0]), (0.0, [4.0, 3.0, 2.0, 1.0])]
)
def test_cvar_is_the_mean_of_the_worst_episodes_if_their_number_is_whole(alpha, worst):
    assert_allclose(cvar(*finished(3.0, 1.0, 4.0, 2.0), alpha), [np.mean(worst)], rtol=1e-6)


def test_cvar_counts_a_fraction_of_an_episode_as_that_fraction():
    """The worst 1.5 of 2 episodes: (4 + ½·1) / 1.5."""
    assert_allclose(cvar(*finished(1.0, 4.0), 0.25), [3.0], rtol=1e-6)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(COSTS, ENDS, st.floats(0.02, 0.98))
def test_the_formula_of_cvar_is_smallest_at_the_quantile(Z, done, alpha):
    """ν + E[(Z − ν)₊]/(1 − α) is convex and has its corners at the costs, one of which is therefore the best ν."""
    done[-1, -1] = True
    found = cvar(jnp.asarray(Z), jnp.asarray(done), alpha)
    for m in range(2):
        of_ended = Z[done][:, m].astype(float)
        least = min(nu + np.mean(np.maximum(of_ended - nu, 0.0)) / (1 - alpha) for nu in of_ended)
        assert_allclose(found[m], least, rtol=1e-4, atol=1e-5)


@settings(deadline=None, derandomize=True, max_examples=20)
@given(COSTS, ENDS, st.floats(0, 1, width=32))
def test_at_any_other_threshold_the_formula_of_cvar_is_no_smaller(Z, done, nu):
    done[-1, -1] = True
    Z, done = jnp.asarray(Z), jnp.asarray(done)
    assert np.all(cost_tail(Z, done, jnp.full(2, nu), 0.7).cvar(0.7) >= cvar(Z, done, 0.7) - 1e-5)


@pytest.mark.parametrize(("alpha", "quantile"), [(0.1, 1.0), (0.5, 3.0), (0.7, 4.0), (0.95, 5.0)])
def test_the_quantile_is_the_smallest_cost_that_enough_episodes_do_not_exceed(alpha, quantile):
    assert_allclose(cost_tail(*finished(3.0, 1.0, 5.0, 4.0, 2.0), NOTHING, alpha).quantile, [quantile])


def test_every_constraint_has_its_own_cvar():
    Z = jnp.array([[1.0, 8.0], [2.0, 6.0], [3.0, 4.0], [4.0, 2.0]])[:, None]
    tail = cost_tail(Z, jnp.ones((4, 1), bool), jnp.array([3.0, 5.0]), 0.5)
    assert_allclose(tail.excess, [0.25, 1.0])
    assert_allclose(tail.quantile, [2.0, 4.0])
    assert_allclose(tail.cvar(0.5), [3.5, 7.0])


def test_costs_of_unfinished_episodes_do_not_count():
    Z, _ = finished(2.0, 9.0, 4.0, 9.0)
    tail = cost_tail(Z, jnp.array([True, False, True, False])[:, None], jnp.array([3.0]), 0.9)
    assert_allclose(tail.excess, [0.5])
    assert_allclose(tail.quantile, [4.0])


def test_without_finished_episodes_the_threshold_is_kept_and_everything_is_finite():
    tail = cost_tail(jnp.ones((3, 2, 1)), jnp.zeros((3, 2), bool), jnp.array([0.7]), 0.9)
    assert_allclose(tail.quantile, [0.7])
    assert_allclose(tail.excess, [0.0])
    assert_allclose(tail.cvar(0.9), [0.7])


@settings(deadline=None, derandomize=True, max_examples=30)
@given(COSTS, ENDS, hnp.arrays(np.float32, (ENVS, 2), elements=st.floats(0, 1, width=32)))
def test_running_sums_are_those_of_a_plain_loop(C, ends, begun):
    before, after = running_sum(jnp.asarray(C), jnp.asarray(ends), jnp.asarray(begun))
    total = begun.copy()
    for t in range(STEPS):
        assert_allclose(before[t], total, atol=1e-6)
        total = total + C[t]
        assert_allclose(after[t], total, atol=1e-6)
        total[ends[t]] = 0.0


@settings(deadline=None, derandomize=True, max_examples=30)
@given(COSTS, ENDS, hnp.arrays(np.float32, 2, elements=st.floats(0, 3, width=32)))
def test_the_excesses_of_an_episode_sum_to_that_of_its_cost(C, ends, nu):
    """An episode that continues sums to the excess of its cost so far."""
    ends[-1] = True
    sums = running_sum(jnp.asarray(C), jnp.asarray(ends), jnp.zeros((ENVS, 2)))
    blank = jnp.zeros_like(C)
    signal = np.asarray(excesses(Costs(jnp.asarray(C), blank, blank, jnp.zeros(2), *sums, jnp.asarray(nu))))
    assert np.all(signal >= -1e-6)
    for env in range(ENVS):
        first = 0
        for last in np.flatnonzero(ends[:, env]):
            Z = C[first : last + 1, env].sum(axis=0)
            assert_allclose(signal[first : last + 1, env].sum(axis=0), np.maximum(Z - nu, 0.0), atol=1e-5)
            first = last + 1


def test_policies_may_observe_running_sums_or_last_costs():
    for augmentation, expected in ((RunningSum(), [3.0, 0.5]), (LastCost(), [2.0, 0.0])):
        remembered = jnp.array(augmentation.initial(2))
        assert_array_equal(remembered, 0.0)
        for C in ([1.0, 0.5], [2.0, 0.0]):
            remembered = augmentation.update(remembered, jnp.array(C), jnp.array(C))
        assert_allclose(remembered, expected)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(COSTS, ENDS, hnp.arrays(np.float32, (ENVS, 2), elements=st.floats(0, 3, width=32)))
def test_an_episode_keeps_the_threshold_that_it_began_with(C, ends, begun):
    """So its excesses sum to (Z − ν)₊ with that ν, though another one holds for the episodes that begin after it."""
    now = np.array([0.5, 1.5], np.float32)
    nu, goes_on = nu_of_episodes(jnp.asarray(ends), jnp.asarray(begun), jnp.asarray(now))
    for env in range(ENVS):
        own = begun[env]
        for t in range(STEPS):
            assert_array_equal(nu[t, env], own)
            own = now if ends[t, env] else own
        assert_array_equal(goes_on[env], own)


def test_the_threshold_of_several_episodes_is_the_mean_of_theirs():
    """Z = 4 with ν = 1, and Z = 2 with ν = 3: excesses 3 and 0."""
    nu = jnp.array([1.0, 3.0])[:, None, None]
    tail = cost_tail(*finished(4.0, 2.0), nu, 0.5)
    assert_allclose(tail.nu, [2.0])
    assert_allclose(tail.excess, [1.5])
