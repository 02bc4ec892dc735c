"""The corrected bounds hold, whatever the problem and however far the candidate."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from ascpo.theory import (
    TabularMDP,
    advantage_change,
    advantage_change_bound,
    advantages,
    constraint_bound,
    mean,
    mean_bounds,
    mean_variance,
    mean_variance_change_bound,
    omega,
    omega_change_bound,
    value_difference,
    value_difference_bound,
    variance,
    variance_mean,
    variance_mean_bound,
)
from ascpo.theory.bounds import drift, largest_advantage, largest_divergence, variance_mean_from

from .helpers import ONLY_ACTION, TOLERANCE, changes, coins, random_changes, steady

FIXED = random_changes(1.0)[0]


@steady
@given(changes())
def test_values_change_by_no_more_than_their_bound(change):
    eta = value_difference(change.mdp, change.old, change.new)
    assert np.all(np.abs(eta) <= value_difference_bound(change.mdp, change.old, change.new) + TOLERANCE)


@steady
@given(changes())
def test_the_change_of_an_advantage_is_that_of_the_values_around_it(change):
    K = advantage_change(change.mdp, change.old, change.new)
    exact = advantages(change.mdp, change.new) - advantages(change.mdp, change.old)
    assert_allclose(np.broadcast_to(K[:, :, None, :], exact.shape), exact, atol=TOLERANCE)


@steady
@given(changes())
def test_advantages_change_by_no_more_than_their_bound(change):
    K = advantage_change(change.mdp, change.old, change.new)
    assert np.all(np.abs(K) <= advantage_change_bound(change.mdp, change.old, change.new) + TOLERANCE)


@steady
@given(changes())
def test_one_step_variances_change_by_no_more_than_their_bound(change):
    actual = np.abs(omega(change.mdp, change.new) - omega(change.mdp, change.old))
    for K in (advantage_change_bound, lambda *args: np.abs(advantage_change(*args))):
        bound = omega_change_bound(change.mdp, change.old, change.new, K(change.mdp, change.old, change.new))
        assert np.all(actual <= bound + TOLERANCE)


@steady
@given(changes())
def test_the_mean_variance_changes_by_no_more_than_its_bound(change):
    actual = abs(mean_variance(change.mdp, change.new) - mean_variance(change.mdp, change.old))
    assert actual <= mean_variance_change_bound(change.mdp, change.old, change.new) + TOLERANCE


@steady
@given(changes())
def test_the_mean_is_between_its_bounds(change):
    lower, upper = mean_bounds(change.mdp, change.old, change.new)
    assert lower - TOLERANCE <= mean(change.mdp, change.new) <= upper + TOLERANCE


@steady
@given(changes())
def test_the_variance_of_the_mean_is_below_its_bound(change):
    bound = variance_mean_bound(change.mdp, change.old, change.new)
    assert variance_mean(change.mdp, change.new) <= bound + TOLERANCE


@steady
@given(changes())
def test_mean_plus_k_variances_is_below_the_constraints_bound(change):
    actual = mean(change.mdp, change.new) + 7.0 * variance(change.mdp, change.new)
    assert actual <= constraint_bound(change.mdp, change.old, change.new, 7.0) + TOLERANCE


@steady
@given(changes())
def test_at_the_old_policy_every_bound_is_exact(change):
    mdp, pi = change.mdp, change.old
    for bound in (value_difference_bound, advantage_change_bound, mean_variance_change_bound):
        assert_allclose(bound(mdp, pi, pi), 0, atol=TOLERANCE)
    assert_allclose(mean_bounds(mdp, pi, pi), mean(mdp, pi), atol=TOLERANCE)
    assert variance_mean_bound(mdp, pi, pi) == pytest.approx(variance_mean(mdp, pi), abs=TOLERANCE)
    exact = mean(mdp, pi) + 7.0 * variance(mdp, pi)
    assert constraint_bound(mdp, pi, pi, 7.0) == pytest.approx(exact, abs=TOLERANCE)


@steady
@given(changes(max_horizon=1))
def test_with_a_single_step_the_bounds_of_the_mean_are_the_mean(change):
    assert_allclose(mean_bounds(change.mdp, change.old, change.new), mean(change.mdp, change.new), atol=TOLERANCE)
    eta = value_difference(change.mdp, change.old, change.new)
    assert_allclose(value_difference_bound(change.mdp, change.old, change.new), np.abs(eta), atol=TOLERANCE)


def test_without_discount_the_remainders_are_h_h_minus_1_and_twice_h_minus_1_squared():
    """The factors of ε KL: 2 S_h for values, 2 (S_h + S_{h−1}) for advantages."""
    h = np.arange(7)
    S = drift(coins(horizon=6))
    assert_allclose(2 * S, h * (h - 1))
    assert_allclose(2 * (S[1:] + S[:-1]), 2 * (h[1:] - 1) ** 2)


def test_the_remainders_of_two_successive_choices_follow_the_formulas():
    """Two actions of costs 0 and 1 wherever one is, n = 2; from always the first to either at random.

    V = 0, so A = D and ε = 1. Ā = ε̄ = TV = ½, so L¹ = ½ and L² = 1. The old policy never takes action 1: KL is capped.
    """
    mdp = replace(coins(horizon=2), P=np.full((2, 2, 2), 0.5), D=np.array([[[0.0, 0.0], [1.0, 1.0]]] * 2))
    old, new = np.array([[1.0, 0.0]] * 2), np.array([[0.5, 0.5]] * 2)
    assert largest_advantage(mdp, old) == pytest.approx(1.0)
    assert largest_divergence(old, new) == 2.0
    assert_allclose(value_difference(mdp, old, new)[:, 0], [0, 0.5, 1.0])
    assert_allclose(value_difference_bound(mdp, old, new)[:, 0], [0, 0.5, 1.0 + 1 * 2 * 1 * 2])
    assert_allclose(advantage_change_bound(mdp, old, new)[:, 0, 0], [0, 0.5, 0.5 + 2 * 1 * 2])
    assert_allclose(mean_bounds(mdp, old, new), (1.0 - 2 * 0.5 * (2 * 0.5), 1.0 + 2 * 0.5 * (2 * 0.5)))


def test_the_mean_variance_can_change_through_the_states_alone():
    """From the start to a quiet state, or with probability x to a noisy one that costs 1 or −1: all values are 0.

    Then K̄ = 0 and no ω changes; MV goes from 0 to x, and the bound, with n − h = 1 and α = x, to 2x.
    """
    start, quiet, noisy = np.eye(3)
    P = np.stack([[quiet, noisy], [quiet, quiet], [(quiet + noisy) / 2] * 2])
    D = np.zeros((3, 2, 3))
    D[2] = [0.0, 1.0, -1.0]
    mdp, x = TabularMDP(P=P, D=D, mu=start, horizon=2), 0.25
    old, new = np.array([[1.0, 0.0]] * 3), np.array([[1 - x, x]] * 3)
    assert_allclose(advantage_change_bound(mdp, old, new), 0)
    assert_allclose((mean_variance(mdp, old), mean_variance(mdp, new)), (0, x))
    assert mean_variance_change_bound(mdp, old, new) == pytest.approx(2 * x)


@pytest.mark.parametrize(("around", "closest_to_zero"), [((1.0, 3.0), 1.0), ((-1.0, 3.0), 0.0), ((-3.0, -2.0), -2.0)])
def test_the_bound_uses_the_possible_mean_that_is_closest_to_zero(around, closest_to_zero):
    """One coin at the start, paid for four times: V = (0, 4), so E[V²] = 8. With η = ½, η² + 2|V|η is at most 4.25."""
    mdp = replace(coins(horizon=4), P=np.eye(2)[:, None, :], mu=np.array([0.5, 0.5]))
    bound = variance_mean_from(mdp, ONLY_ACTION, np.array([0.5, 0.5]), around)
    assert bound == pytest.approx(8 + 4.25 - closest_to_zero**2)


@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.99])
def test_the_papers_discounted_constants_are_valid_and_looser(gamma):
    """|·| + 2ε(γ−γʰ)/(1−γ)² KL for values, |·| + 4ε(γ−γʰ)/(1−γ)² KL for advantages."""
    S, h = drift(coins(horizon=20, gamma=gamma))[1:], np.arange(1, 21)
    constant = (gamma - gamma**h) / (1 - gamma) ** 2
    assert np.all(constant - S >= -TOLERANCE)
    assert np.all(2 * constant[1:] - S[1:] - gamma * S[:-1] >= -TOLERANCE)
    assert_allclose(S, gamma * (1 - h * gamma ** (h - 1) + (h - 1) * gamma**h) / (1 - gamma) ** 2)


def test_towards_no_discount_nothing_diverges():
    nearly = [drift(coins(horizon=10, gamma=1 - x))[-1] for x in (1e-3, 1e-6, 1e-9, 0.0)]
    assert_allclose(nearly, 45.0, rtol=1e-2)
    assert nearly[-1] == 45.0


def test_a_smaller_step_has_smaller_bounds():
    sizes = [1.0, 0.3, 0.1, 0.03]
    news = [(1 - x) * FIXED.old + x * FIXED.new for x in sizes]
    bounds = [mean_variance_change_bound(FIXED.mdp, FIXED.old, new) for new in news]
    assert bounds == sorted(bounds, reverse=True)
