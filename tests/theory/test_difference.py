"""The difference lemma, and distances between policies."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from ascpo.theory import (
    divergence,
    first_order_difference,
    mean,
    mean_advantages,
    total_variation,
    value_difference,
    values,
    visitation,
)

from .helpers import TOLERANCE, changes, random_changes, steady


@steady
@given(changes())
def test_advantages_of_the_old_policy_along_the_new_one_add_up_to_the_difference(change):
    eta = value_difference(change.mdp, change.old, change.new)
    assert_allclose(eta, values(change.mdp, change.new) - values(change.mdp, change.old), atol=TOLERANCE)


@steady
@given(changes())
def test_at_time_t_the_advantage_is_that_of_the_steps_left(change):
    mdp = change.mdp
    Abar = mean_advantages(mdp, change.old, change.new)
    d = visitation(mdp, change.new)
    total = sum(mdp.gamma**t * d[t] @ Abar[mdp.horizon - t] for t in range(mdp.horizon))
    assert mean(mdp, change.new) - mean(mdp, change.old) == pytest.approx(total, abs=TOLERANCE)


def test_the_old_policys_states_give_the_difference_to_first_order():
    """A change ten times smaller leaves an error a hundred times smaller."""
    change = next(c for c in random_changes(1.0) if c.mdp.horizon == 6)
    errors = []
    for step in (1e-2, 1e-3):
        new = (1 - step) * change.old + step * change.new[::-1]
        exact = value_difference(change.mdp, change.old, new)[-1]
        errors.append(np.abs(exact - first_order_difference(change.mdp, change.old, new)[-1]).max())
    assert errors[0] / errors[1] == pytest.approx(100, rel=0.1)


def test_the_distances_of_two_coins_are_those_of_the_formulas():
    old, new = np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[0.75, 0.25], [1.0, 0.0]])
    assert_allclose(total_variation(old, new), [0.25, 0.5])
    assert_allclose(divergence(old, new), [0.75 * np.log(1.5) + 0.25 * np.log(0.5), np.log(2)])
    assert_allclose(divergence(new, old), [0.5 * np.log(4 / 3), np.inf])


@steady
@given(changes())
def test_total_variation_squared_is_at_most_half_the_divergence(change):
    TV = total_variation(change.old, change.new)
    for KL in (divergence(change.old, change.new), divergence(change.new, change.old)):
        assert np.all(TV**2 <= 0.5 * KL + 1e-12)


@steady
@given(changes())
def test_after_t_steps_states_differ_by_at_most_t_times_the_distance_of_the_policies(change):
    d, d_new = visitation(change.mdp, change.old), visitation(change.mdp, change.new)
    t = np.arange(change.mdp.horizon)
    alpha = total_variation(change.old, change.new).max()
    assert np.all(0.5 * np.abs(d_new - d).sum(axis=1) <= np.minimum(1.0, t * alpha) + TOLERANCE)


@steady
@given(changes())
def test_over_an_episode_distances_add_up_to_at_most_n_roots_of_half_the_mean_divergence(change):
    """Σ_t E_{d_t}[TV] ≤ n √(½ KL̄). Jensen needs mass 1, so KL̄ is the mean over the steps, and n stands outside."""
    KL = divergence(change.old, change.new)
    if not np.all(np.isfinite(KL)):
        return
    d = visitation(change.mdp, change.old)
    distance = (d @ total_variation(change.old, change.new)).sum()
    assert distance <= change.mdp.horizon * np.sqrt(0.5 * (d @ KL).mean()) + TOLERANCE
