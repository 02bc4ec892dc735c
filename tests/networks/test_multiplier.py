"""A multiplier rises while a limit is violated, for each constraint or in each state."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.networks.multiplier import Multiplier, ScalarMultiplier, StateMultiplier, ascended

RATE = 0.01
STATES = jnp.array([[[1.0, 0.0]], [[-1.0, 0.5]]])
"""Two states."""
NOTHING = jnp.zeros(1)


@pytest.fixture(scope="module")
def started():
    return StateMultiplier(RATE).init(2, 1, (4, 4), jax.random.key(3))


# --- one for each constraint ------------------------------------------------------------------------


def test_a_multiplier_rises_by_its_rate_times_the_violation_and_stops_falling_at_zero():
    assert_allclose(ascended(jnp.array([1.0, 1.0, 0.5]), jnp.array([4.0, -2.0, -8.0]), 0.25), [2.0, 0.5, 0.0])


def test_the_multiplier_follows_the_violation_from_epoch_to_epoch():
    """From 0 in steps of ¼ of the violation: 1, then 0 and not −1, then ¼."""
    scalar = ScalarMultiplier(0.25)
    lam = scalar.init(2, 1, (4,), jax.random.key(0))
    for violation, expected in ((4.0, 1.0), (-8.0, 0.0), (1.0, 0.25)):
        lam = scalar.ascend(lam, STATES, jnp.array([violation]), None)
        assert_allclose(scalar.value(lam, STATES), [expected])


def test_every_constraint_has_a_multiplier_that_starts_at_zero():
    assert_array_equal(ScalarMultiplier(RATE).init(2, 3, (4,), jax.random.key(0)), np.zeros(3))


@settings(deadline=None, derandomize=True, max_examples=30)
@given(
    hnp.arrays(np.float32, 3, elements=st.floats(0, 10, width=32)),
    hnp.arrays(np.float32, 3, elements=st.floats(-100, 100, width=32)),
)
def test_a_multiplier_is_never_negative_and_rises_exactly_where_a_limit_is_broken(lam, violation):
    after = np.asarray(ascended(jnp.asarray(lam), jnp.asarray(violation), 0.5))
    assert np.all(after >= 0)
    assert np.all(after[violation >= 0] >= lam[violation >= 0])
    assert np.all(after[violation <= 0] <= lam[violation <= 0])


# --- one for each state -----------------------------------------------------------------------------


def test_a_state_multiplier_is_a_tanh_network_with_a_softplus_output(started):
    x = np.asarray(STATES, float)
    *hidden, (weight, bias) = started[0]
    for layer_weight, layer_bias in hidden:
        x = np.tanh(x @ np.asarray(layer_weight).T + np.asarray(layer_bias))
    expected = np.log1p(np.exp(x @ np.asarray(weight).T + np.asarray(bias)))
    assert_allclose(StateMultiplier(RATE).value(started, STATES), expected, rtol=1e-5)


def test_every_constraint_has_its_own_state_multiplier_and_none_is_ever_negative():
    state = StateMultiplier(RATE).init(2, 3, (4,), jax.random.key(1))
    lam = StateMultiplier(RATE).value(state, 1e4 * STATES)
    assert lam.shape == (2, 1, 3)
    assert np.all(lam >= 0)
    assert np.all(np.isfinite(lam))


def test_the_first_step_of_adam_moves_no_parameter_further_than_its_rate(started):
    after = StateMultiplier(RATE).ascend(started, STATES, NOTHING, jnp.array([[[2.0]], [[-5.0]]]))
    moved = [np.abs(new - old) for new, old in zip(jax.tree.leaves(after[0]), jax.tree.leaves(started[0]), strict=True)]
    furthest = max(float(move.max()) for move in moved)
    assert furthest == pytest.approx(RATE, rel=1e-2)
    assert furthest <= RATE * 1.001


def test_a_state_multiplier_rises_where_costs_exceed_the_limit_and_falls_elsewhere(started):
    multiplier = StateMultiplier(RATE, steps=30)
    before = multiplier.value(started, STATES)
    ascended_to = multiplier.ascend(started, STATES, NOTHING, jnp.array([[[1.0]], [[-1.0]]]))
    after = multiplier.value(ascended_to, STATES)
    assert float(after[0, 0, 0]) > float(before[0, 0, 0]) + 0.1
    assert float(after[1, 0, 0]) < float(before[1, 0, 0]) - 0.1


def test_several_steps_in_an_epoch_equal_as_many_epochs_of_one_step(started):
    to_go = jnp.array([[[1.0]], [[-1.0]]])
    at_once = StateMultiplier(RATE, steps=3).ascend(started, STATES, NOTHING, to_go)
    one_by_one = started
    for _ in range(3):
        one_by_one = StateMultiplier(RATE).ascend(one_by_one, STATES, NOTHING, to_go)
    jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=1e-4, atol=1e-6), at_once, one_by_one)


def test_a_state_multiplier_needs_the_cost_that_followed_each_state(started):
    with pytest.raises(ValueError, match="cost after each state"):
        StateMultiplier(RATE).ascend(started, STATES, NOTHING, None)


def test_both_multipliers_follow_the_protocol_and_say_whether_they_depend_on_the_state():
    assert isinstance(ScalarMultiplier(RATE), Multiplier)
    assert isinstance(StateMultiplier(RATE), Multiplier)
    assert (ScalarMultiplier(RATE).state_dependent, StateMultiplier(RATE).state_dependent) == (False, True)
