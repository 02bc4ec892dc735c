"""Mean and variance of the return: the recursions against the law, the paths and closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from ascpo.theory import (
    advantages,
    law_of_return,
    mean,
    mean_variance,
    omega,
    second_moment,
    values,
    variance,
    variance_mean,
    variances,
    visitation,
)

from .helpers import ONLY_ACTION, TOLERANCE, changes, coins, costs, paths, steady


@pytest.mark.parametrize("gamma", [1.0, 0.8])
def test_independent_coins_add_their_variances(gamma):
    mdp = coins(horizon=4, gamma=gamma, heads=0.3)
    t = np.arange(4)
    assert mean(mdp, ONLY_ACTION) == pytest.approx(0.3 * np.sum(gamma**t))
    assert mean_variance(mdp, ONLY_ACTION) == pytest.approx(0.21 * np.sum(gamma ** (2 * t)))
    assert variance_mean(mdp, ONLY_ACTION) == 0
    assert_allclose(omega(mdp, ONLY_ACTION)[1:], 0.21)


def test_one_coin_at_the_start_has_only_variance_of_the_mean():
    stay = replace(coins(horizon=4), P=np.eye(2)[:, None, :], mu=np.array([0.5, 0.5]))
    assert mean(stay, ONLY_ACTION) == pytest.approx(2.0)
    assert mean_variance(stay, ONLY_ACTION) == 0
    assert variance_mean(stay, ONLY_ACTION) == pytest.approx(4**2 / 4)


@steady
@given(changes(max_horizon=4))
def test_means_and_variances_from_every_state_are_those_of_the_law(change):
    V, X = values(change.mdp, change.old), variances(change.mdp, change.old)
    assert_allclose((V[0], X[0]), 0)
    for h in range(1, change.mdp.horizon + 1):
        laws = [
            law_of_return(replace(change.mdp, horizon=h).starting_in(s), change.old) for s in range(change.mdp.states)
        ]
        assert_allclose(V[h], [law.mean for law in laws], atol=TOLERANCE)
        assert_allclose(X[h], [law.variance for law in laws], atol=TOLERANCE)


@steady
@given(changes())
def test_omega_is_the_variance_of_a_steps_cost_plus_the_next_value(change):
    mdp, pi = change.mdp, change.old
    V, w = values(mdp, pi), omega(mdp, pi)
    for h in range(1, mdp.horizon + 1):
        Y = mdp.D + mdp.gamma * V[h - 1]
        assert_allclose(mdp.expect(pi, Y), V[h], atol=TOLERANCE)
        assert_allclose(mdp.expect(pi, Y**2) - mdp.expect(pi, Y) ** 2, w[h], atol=TOLERANCE)


@steady
@given(changes(max_horizon=4))
def test_the_variance_is_its_mean_plus_the_variance_of_the_mean(change):
    law = law_of_return(change.mdp, change.old)
    assert mean(change.mdp, change.old) == pytest.approx(law.mean, abs=TOLERANCE)
    assert variance(change.mdp, change.old) == pytest.approx(law.variance, abs=TOLERANCE)
    assert variance(change.mdp, change.old) == pytest.approx(
        mean_variance(change.mdp, change.old) + variance_mean(change.mdp, change.old), abs=TOLERANCE
    )


@steady
@given(changes(max_horizon=4))
def test_mean_variance_and_squared_start_values_make_the_second_moment(change):
    mdp, pi = change.mdp, change.old
    squared = float(mdp.mu @ values(mdp, pi)[-1] ** 2)
    expected = law_of_return(mdp, pi).second_moment
    assert mean_variance(mdp, pi) + squared == pytest.approx(expected, abs=TOLERANCE)
    assert second_moment(mdp, pi) == pytest.approx(expected, abs=TOLERANCE)


@steady
@given(changes(max_horizon=3))
def test_mean_variance_is_the_expected_sum_of_squared_residuals_along_an_episode(change):
    mdp, pi, n = change.mdp, change.old, change.mdp.horizon
    V, A = values(mdp, pi), advantages(mdp, pi)
    total = 0.0
    for probability, states, actions in paths(mdp, pi):
        C = costs(mdp, states, actions)
        delta = [C[t] + mdp.gamma * V[n - t - 1, states[t + 1]] - V[n - t, states[t]] for t in range(n)]
        assert_allclose(delta, A[np.arange(n, 0, -1), states[:-1], actions, states[1:]], atol=TOLERANCE)
        total += probability * np.sum(mdp.gamma ** (2 * np.arange(n)) * np.square(delta))
    assert mean_variance(mdp, pi) == pytest.approx(total, abs=TOLERANCE)


@steady
@given(changes(max_horizon=3))
def test_visitation_counts_are_those_of_the_paths(change):
    expected = np.zeros((change.mdp.horizon, change.mdp.states))
    for probability, states, _ in paths(change.mdp, change.old):
        expected[np.arange(change.mdp.horizon), states[:-1]] += probability
    assert_allclose(visitation(change.mdp, change.old), expected, atol=1e-12)


@steady
@given(changes())
def test_no_policy_has_an_advantage_over_itself(change):
    assert_allclose(change.mdp.expect(change.old, advantages(change.mdp, change.old)), 0, atol=TOLERANCE)
