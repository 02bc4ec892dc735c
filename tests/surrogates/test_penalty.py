"""Penalties on two steps whose ratios are 1 and 2, with advantages (1, −1) and (3, −3)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ascpo.networks.multiplier import ScalarMultiplier, StateMultiplier
from ascpo.surrogates.evidence import Evidence
from ascpo.surrogates.maximum import ExpectedMaximum
from ascpo.surrogates.penalty import Barrier, BoundLagrangian, BoundOverLimit, EpisodeCost, Lagrangian, Penalty
from ascpo.surrogates.weights import Weights
from tests.surrogates.helpers import evidence, statistics

TWO = evidence([[[1.0, -1.0]], [[3.0, -3.0]]], cost=[5.0, 1.0], count=2.0, length=4.0)
WEIGHTS = Weights(jnp.array([[1.0], [2.0]]))
LIMITS = jnp.array([2.0, 2.0])
LAM = jnp.array([2.0, 1.0])
T, SLOPE = 20.0, 0.3


def test_a_multiplier_ascends_on_the_mean_cost_minus_its_limit():
    assert_allclose(EpisodeCost()(TWO, LIMITS), [3.0, -1.0])


def test_the_penalty_is_the_mean_of_multiplier_times_ratio_times_advantage():
    """Means of ξA: (1 + 6)/2 and −(1 + 6)/2, with multipliers 2 and 1."""
    assert_allclose(Lagrangian(0.5)(TWO, WEIGHTS, LAM, LIMITS), 0.5 * (2 * 3.5 - 1 * 3.5))


def test_every_state_may_have_its_own_multiplier():
    """The penalty of the first step is 1·1, of the second 2·(−6)."""
    lam = jnp.array([[[1.0, 0.0]], [[0.0, 2.0]]])
    assert_allclose(Lagrangian(1.0)(TWO, WEIGHTS, lam, LIMITS), (1.0 - 12.0) / 2)


@pytest.mark.parametrize("rescaled", [False, True])
@pytest.mark.parametrize("part", [0.0, 0.5])
def test_a_part_of_the_penalty_may_be_waived_and_does_not_count_in_the_rescaling(part, rescaled):
    penalty = Penalty(Lagrangian(1.0), rescaled=rescaled)
    whole = penalty.added_to(jnp.array(-8.0), TWO, WEIGHTS, LAM, LIMITS, part)
    assert_allclose(whole, (-8.0 + 3.5 * part) / (1.0 + 3.0 * part if rescaled else 1.0), rtol=1e-6)


def test_a_multiplier_that_is_equal_in_all_states_acts_like_a_scalar():
    everywhere = jnp.broadcast_to(LAM, (2, 1, 2))
    assert_allclose(
        Lagrangian(1.0)(TWO, WEIGHTS, everywhere, LIMITS), Lagrangian(1.0)(TWO, WEIGHTS, LAM, LIMITS), rtol=1e-6
    )


def test_the_gradient_of_the_penalty_is_the_multiplier_times_that_of_the_cost():
    """∂/∂ξₜ of ½ Σ λ·ξₜ·Aₜ: (2·1 − 1·1)/2 and (2·3 − 1·3)/2."""
    slope = jax.grad(lambda ratio: Lagrangian(1.0)(TWO, Weights(ratio), LAM, LIMITS))(WEIGHTS.ratio)
    assert_allclose(slope[:, 0], [0.5, 1.5])


def test_the_surrogate_of_a_constraint_may_be_a_penalty():
    """X = Σ ξA over 2 episodes = (3.5, −3.5)."""
    term = BoundLagrangian(ExpectedMaximum(), 0.5)
    assert_allclose(term(TWO, WEIGHTS, LAM, LIMITS), 0.5 * (2 * 3.5 - 1 * 3.5))


def of_cost(*J, t=T):
    """Value and gradient in ξ of the barrier for a step with advantage 1, at this mean cost minus the limit."""
    m = len(J)
    one = evidence(np.ones((1, 1, m)), cost=J)
    term = lambda ratio: Barrier(t, SLOPE)(one, Weights(ratio), jnp.zeros(m), jnp.zeros(m))  # noqa: E731
    value, slope = jax.value_and_grad(term)(jnp.ones((1, 1)))
    return float(value), float(slope[0, 0])


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.floats(2**-13, 100, width=32))
def test_below_the_limit_the_barrier_is_a_logarithm(room):
    value, slope = of_cost(-room)
    assert value == pytest.approx(-np.log(room) / T, rel=1e-4, abs=1e-6)
    assert slope == pytest.approx(1.0 / (T * room), rel=1e-4)


@settings(deadline=None, derandomize=True, max_examples=20)
@given(st.floats(0, 100, width=32))
def test_at_the_limit_and_above_the_barrier_is_linear(over):
    value, slope = of_cost(over)
    assert value == pytest.approx(SLOPE * over, rel=1e-5)
    assert slope == pytest.approx(SLOPE, rel=1e-5)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.floats(-(2.0**100), 2.0**100, width=32))
def test_a_barrier_is_finite_everywhere(J):
    assert np.all(np.isfinite(of_cost(J)))


@pytest.mark.parametrize("J", [-1e-6, -1e-8, -1e-20, -1.2e-38, -0.0, 0.0])
def test_a_barrier_is_finite_however_near_the_limit_and_however_steep(J):
    value, slope = of_cost(J, t=0.01)
    assert np.isfinite(value)
    assert 0 < slope < np.inf


def test_several_barriers_add_up_on_either_side_of_their_limits():
    value, slope = of_cost(-0.5, 0.3)
    assert value == pytest.approx(-np.log(0.5) / T + SLOPE * 0.3, rel=1e-5)
    assert slope == pytest.approx(2.0 / T + SLOPE, rel=1e-5)


def test_a_barrier_is_evaluated_at_the_estimated_cost_of_the_new_policy():
    """J = J_C − w + Σ(ξ−1)A / N: 1 − 2 + 3/2, and 1 − 2 − 3/2."""
    some = evidence([[[1.0, -1.0]], [[3.0, -3.0]]], cost=[1.0, 1.0], count=2.0)
    term = Barrier(T, SLOPE)(some, WEIGHTS, jnp.zeros(2), LIMITS)
    assert_allclose(term, SLOPE * 0.5 - np.log(2.5) / T, rtol=1e-5)


@pytest.mark.parametrize(("rescaled", "divisor"), [(False, 1.0), (True, 1.0 + 2.0 + 1.0)])
def test_the_whole_loss_may_be_divided_by_one_plus_the_multipliers(rescaled, divisor):
    whole = Penalty(Lagrangian(1.0), rescaled=rescaled).added_to(jnp.array(-8.0), TWO, WEIGHTS, LAM, LIMITS)
    assert_allclose(whole, (-8.0 + 3.5) / divisor, rtol=1e-6)


def test_a_multiplier_that_is_equal_in_all_states_rescales_like_a_scalar():
    penalty, everywhere = Penalty(Lagrangian(1.0), rescaled=True), jnp.broadcast_to(LAM, (2, 1, 2))
    assert_allclose(
        penalty.added_to(jnp.array(-8.0), TWO, WEIGHTS, everywhere, LIMITS),
        penalty.added_to(jnp.array(-8.0), TWO, WEIGHTS, LAM, LIMITS),
        rtol=1e-6,
    )


def test_a_multiplier_may_ascend_on_a_bound_minus_its_limit():
    """E − w of episodes whose mean largest cost is (5, 1)."""
    some = Evidence(jnp.zeros((1, 1)), jnp.zeros((1, 1, 2)), jnp.zeros((1, 1, 2)), statistics(max_cost=[5.0, 1.0]))
    assert_allclose(BoundOverLimit(ExpectedMaximum())(some, LIMITS), [3.0, -1.0])


def test_a_scalar_multiplier_needs_a_violation_and_a_state_multiplier_takes_none():
    with pytest.raises(ValueError, match="violation"):
        Penalty(Lagrangian(), ScalarMultiplier(1.0))
    with pytest.raises(ValueError, match="violation"):
        Penalty(Lagrangian(), StateMultiplier(1.0), EpisodeCost())


@pytest.mark.parametrize("rescaled", [False, True])
def test_without_a_multiplier_only_penalties_that_need_none_affect_the_loss(rescaled):
    added = lambda term: Penalty(term, rescaled=rescaled).added_to(jnp.array(-8.0), TWO, WEIGHTS, None, LIMITS)  # noqa: E731
    assert_allclose(added(Lagrangian(1.0)), -8.0)
    assert_allclose(added(lambda evidence, weights, lam, limits: jnp.array(3.0)), -5.0)


def test_the_default_strength_of_a_penalty_is_one():
    assert Lagrangian().strength == BoundLagrangian(ExpectedMaximum()).strength == 1.0


def test_state_multipliers_rescale_by_their_mean():
    """Σλ is 1 in the first state and 2 in the second: the loss is divided by 1 + 1.5."""
    lam = jnp.array([[[1.0, 0.0]], [[0.0, 2.0]]])
    free = lambda evidence, weights, lam, limits: jnp.array(0.0)  # noqa: E731
    whole = Penalty(free, rescaled=True).added_to(jnp.array(-5.0), TWO, WEIGHTS, lam, LIMITS)
    assert_allclose(whole, -5.0 / 2.5, rtol=1e-6)
