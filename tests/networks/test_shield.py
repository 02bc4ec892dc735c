"""Shields with models of known slopes, so that the right action can be derived."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from ascpo.networks.critics import Critic
from ascpo.networks.settings import FitSettings
from ascpo.networks.shield import LinearCost, SafetyLayer, Shield, UnrollingSafetyLayer, shield_batch, shielded

ACTIONS = hnp.arrays(np.float32, 2, elements=st.floats(-1, 1, width=32))
LIMIT = jnp.array([0.5])
FREE = jnp.zeros(1)
SAFETY_LAYER = SafetyLayer(warm_up=0.0, fit=FitSettings())


def unrolling(threshold=0.05, iterations=20, step=0.05, discount=0.99):
    return UnrollingSafetyLayer(threshold, iterations, step, 0.0, FitSettings(), discount)


LINEAR = {m: SAFETY_LAYER.network(m, 2, m, (), jax.random.key(0)) for m in (1, 2)}
COSTLY = unrolling().network(1, 2, 1, (), jax.random.key(0))
BENT = unrolling().network(1, 2, 1, (4,), jax.random.key(0))


def linear(*g):
    """A model whose slopes are these in every state."""
    g = jnp.asarray(g, jnp.float32)
    layer = lambda net: (net.slopes.layers[0].weight, net.slopes.layers[0].bias)  # noqa: E731
    network = LINEAR[len(g)]
    return eqx.tree_at(layer, network, (jnp.zeros_like(layer(network)[0]), g.ravel()))


def costly(slope, bias=0.0):
    """Q(s, a) = softplus(bias + slope·a)."""
    layer = lambda net: (net.body.layers[0].weight, net.body.layers[0].bias)  # noqa: E731
    return eqx.tree_at(layer, COSTLY, (jnp.array([[0.0, *slope]]), jnp.array([bias])))


@eqx.filter_jit
def unrolled(layer, network, action, limits=FREE):
    return layer.correct(network, jnp.zeros(1), action, limits)


def softplus(x):
    return np.log1p(np.exp(x))


def nearest(a, g, c, w):
    """min ½‖a′ − a‖² such that c + g·a′ ≤ w."""
    found = minimize(
        lambda x: 0.5 * np.sum((x - a) ** 2),
        a,
        jac=lambda x: x - a,
        constraints={"type": "ineq", "fun": lambda x: w - c - g @ x, "jac": lambda x: -g},
        options={"ftol": 1e-12},
    )
    assert found.success
    return found.x


# --- the safety layer -------------------------------------------------------------------------------


def test_the_linear_model_adds_slopes_times_action_to_the_last_costs():
    """Last costs (0.1, 0.2); 2·3 − 1·4 and 5·3 + 1·4."""
    x = jnp.array([[0.1, 0.2, 3.0, 4.0]])
    assert_allclose(linear((2.0, -1.0), (5.0, 1.0))(x), [[2.1, 19.2]], rtol=1e-6)


def test_the_linear_models_slopes_depend_on_the_state():
    network = SAFETY_LAYER.network(3, 2, 2, (4,), jax.random.key(1))
    x = jax.random.normal(jax.random.key(2), (5, 1, 5))
    g = network.g(x[..., :3])
    assert g.shape == (5, 1, 2, 2)
    assert float(jnp.std(g[:, 0, 0, 0])) > 0.01
    assert_allclose(network(x), x[..., 1:3] + np.einsum("temd,ted->tem", g, x[..., 3:]), rtol=1e-5, atol=1e-6)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(
    hnp.arrays(np.float32, 2, elements=st.floats(-2, 2, width=32)),
    ACTIONS,
    st.floats(0, 1, width=32),
)
def test_the_layer_takes_the_nearest_action_that_the_model_finds_safe(g, a, c):
    assume(np.linalg.norm(g) > 0.1)
    expected = nearest(a.astype(float), g.astype(float), c, 0.5)
    assume(np.all(np.abs(expected) <= 1))
    changed = SAFETY_LAYER.correct(linear(g), jnp.array([c]), jnp.asarray(a), LIMIT)
    assert_allclose(changed, expected, atol=1e-4)


@settings(deadline=None, derandomize=True, max_examples=20)
@given(hnp.arrays(np.float32, 2, elements=st.floats(-2, 2, width=32)), ACTIONS, st.floats(0, 10, width=32))
def test_the_layer_keeps_actions_within_their_range(g, a, c):
    changed = SAFETY_LAYER.correct(linear(g), jnp.array([c]), jnp.asarray(a), LIMIT)
    assert np.all(np.abs(changed) <= 1)


def test_a_safe_action_is_left_alone_even_outside_the_range():
    """0.1 + 0.1·3 is under 0.5."""
    action = jnp.array([3.0, -7.0])
    assert_array_equal(SAFETY_LAYER.correct(linear((0.1, 0.0)), jnp.array([0.1]), action, LIMIT), action)


def test_a_corrected_action_is_clipped_to_the_range():
    """a − (12 + 1 − 0.5)/2·g would be (−5.25, −6.25)."""
    changed = SAFETY_LAYER.correct(linear((1.0, 1.0)), jnp.array([12.0]), jnp.array([1.0, 0.0]), LIMIT)
    assert_array_equal(changed, [-1.0, -1.0])


def test_of_two_constraints_the_one_with_the_larger_multiplier_is_met():
    """Excesses 0.4 and 0.6 with gᵀg = 1 and 4: multipliers 0.4 and 0.15."""
    network = linear((1.0, 0.0), (0.0, 2.0))
    last, action, limits = jnp.array([0.4, 0.2]), jnp.array([0.5, 0.45]), jnp.array([0.5, 0.5])
    changed = SAFETY_LAYER.correct(network, last, action, limits)
    assert_allclose(changed, [0.1, 0.45], atol=1e-6)
    assert_allclose(network(jnp.concatenate([last, changed])) - limits, [0.0, 0.6], atol=1e-6)


def test_a_model_without_slopes_changes_nothing():
    action = jnp.array([0.5, 0.5])
    assert_array_equal(SAFETY_LAYER.correct(linear((0.0, 0.0)), jnp.array([2.0]), action, LIMIT), action)


# --- the unrolling safety layer ---------------------------------------------------------------------


def test_an_action_descends_until_its_cost_is_under_the_threshold():
    """A step is 0.05·(1, ½) and lowers bias + slope·a by 0.0625; 0.6 is softplus(−0.196), four steps from 0."""
    layer = unrolling(threshold=0.6)
    changed = unrolled(layer, costly((1.0, 0.5)), jnp.zeros(2))
    assert_allclose(changed, [-0.2, -0.1], atol=1e-6)
    assert softplus(-0.1875) > 0.6 > softplus(-0.25)


def test_the_threshold_is_added_to_the_limit():
    """As above, with 0.5 of the 0.6 allowed."""
    layer = unrolling(threshold=0.1)
    changed = unrolled(layer, costly((1.0, 0.5)), jnp.zeros(2), LIMIT)
    assert_allclose(changed, [-0.2, -0.1], atol=1e-6)


def test_a_correction_is_no_longer_than_its_steps():
    layer = unrolling(threshold=0.0, iterations=3, step=0.1)
    changed = unrolled(layer, costly((-2.0, 1.0)), jnp.zeros(2))
    assert_allclose(changed, [0.3, -0.15], atol=1e-6)


def test_an_action_under_the_threshold_is_left_alone_even_outside_the_range():
    """As the environment clips it, (1, −1), it costs softplus(−4) = 0.018."""
    action = jnp.array([1.5, -2.0])
    layer = unrolling(threshold=0.05)
    assert_array_equal(unrolled(layer, costly((-2.0, 2.0)), action), action)


def test_a_costly_action_outside_the_range_is_clipped_before_its_correction():
    layer = unrolling(threshold=0.0, iterations=2, step=0.1)
    changed = unrolled(layer, costly((1.0, 0.0)), jnp.array([5.0, 0.3]))
    assert_allclose(changed, [0.8, 0.3], atol=1e-6)


def test_the_largest_of_several_costs_is_reduced():
    network = unrolling().network(1, 2, 2, (), jax.random.key(0))
    layer = lambda net: (net.body.layers[0].weight, net.body.layers[0].bias)  # noqa: E731
    network = eqx.tree_at(layer, network, (jnp.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), jnp.array([0.0, 2.0])))
    changed = unrolled(unrolling(iterations=4), network, jnp.zeros(2), jnp.zeros(2))
    assert_allclose(changed, [0.0, -0.2], atol=1e-6)


@settings(deadline=None, derandomize=True, max_examples=25)
@given(
    hnp.arrays(np.float32, (4, 3), elements=st.floats(-8, 8, width=32)),
    hnp.arrays(np.float32, 4, elements=st.floats(-3, 3, width=32)),
    ACTIONS,
)
def test_a_correction_always_lowers_the_cost_and_stays_near_and_within_the_range(inner, outer, a):
    layers = lambda net: (net.body.layers[0].weight, net.body.layers[1].weight)  # noqa: E731
    network = eqx.tree_at(layers, BENT, (jnp.asarray(inner), jnp.asarray(outer)[None]))
    layer = unrolling(threshold=0.05, iterations=3, step=0.1)
    changed = unrolled(layer, network, jnp.asarray(a))
    Q = lambda action: float(network(jnp.concatenate([jnp.zeros(1), action]))[0])  # noqa: E731
    assert Q(changed) <= Q(jnp.asarray(a)) + 1e-6
    assert np.all(np.abs(changed) <= 1)
    assert np.all(np.abs(changed - a) <= 0.3 + 1e-6)
    if Q(jnp.asarray(a)) <= 0.05:
        assert_array_equal(changed, a)


def test_an_action_in_a_valley_narrower_than_a_step_is_left_alone():
    """Q is least at 0 and rises within 0.1 of it: a step of 0.3 from beside it goes up the other side."""
    layers = lambda net: (  # noqa: E731
        net.body.layers[0].weight,
        net.body.layers[0].bias,
        net.body.layers[1].weight,
        net.body.layers[1].bias,
    )
    inner = jnp.array([[0.0, 20.0, 0.0], [0.0, 20.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    network = eqx.tree_at(
        layers, BENT, (inner, jnp.array([-1.0, 1.0, 0.0, 0.0]), jnp.array([[2.0, -2.0, 0.0, 0.0]]), jnp.array([3.0]))
    )
    action = jnp.array([0.01, 0.0])
    assert_array_equal(unrolled(unrolling(iterations=1, step=0.3), network, action), action)


# --- what they learn --------------------------------------------------------------------------------

VIEWS = jnp.zeros((3, 2, 1))
TAKEN = jnp.array([[[0.1, 0.0], [0.2, 0.0]], [[0.3, 0.0], [0.4, 0.0]], [[0.5, 0.0], [0.6, 0.0]]])
COST = jnp.array([[[1.0], [0.0]], [[0.0], [2.0]], [[0.0], [0.5]]])
DONE = jnp.array([[False, False], [True, False], [False, True]])


def test_the_safety_layer_learns_the_next_costs():
    told = shield_batch(SAFETY_LAYER, linear((1.0, 0.0)), VIEWS, TAKEN, COST, DONE)
    assert_array_equal(told.target, COST)
    assert_array_equal(told.observation, jnp.concatenate([VIEWS, TAKEN], axis=-1))
    assert_array_equal(told.positive, [[True, False], [False, True], [False, True]])


def test_the_unrolling_safety_layer_learns_the_future_cost():
    """Cₜ + ½·Q of the next step, and nothing after an episode's end."""
    layer = unrolling(discount=0.5)
    told = shield_batch(layer, costly((10.0, 0.0)), VIEWS, TAKEN, COST, DONE)
    assert_allclose(told.target[:, 0, 0][:2], [1.0 + softplus(3.0) / 2, 0.0], rtol=1e-5)
    assert_allclose(told.target[:, 1, 0], [softplus(4.0) / 2, 2.0 + softplus(6.0) / 2, 0.5], rtol=1e-5)
    assert_array_equal(told.last, DONE)


@pytest.mark.parametrize("shield", [SAFETY_LAYER, unrolling()])
def test_the_last_step_has_a_target_only_if_its_episode_ended(shield):
    network = linear((1.0, 0.0)) if isinstance(shield, SafetyLayer) else costly((1.0, 0.0))
    told = shield_batch(shield, network, VIEWS, TAKEN, COST, DONE)
    assert_array_equal(told.known, [[True, True], [True, True], [False, True]])


# --- when they act ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("active", "expected"), [(False, [0.9, 0.0]), (True, [0.5, 0.0])])
def test_a_shield_changes_actions_only_once_it_is_active(active, expected):
    taken = shielded(SAFETY_LAYER, linear((1.0, 0.0)), jnp.array(active), jnp.zeros(1), jnp.array([0.9, 0.0]), LIMIT)
    assert_allclose(taken, expected, atol=1e-6)


def test_both_shields_follow_the_protocol_and_have_their_own_models():
    for shield, kind in ((SAFETY_LAYER, LinearCost), (unrolling(), Critic)):
        assert isinstance(shield, Shield)
        network = shield.network(3, 2, 2, (4,), jax.random.key(0))
        assert isinstance(network, kind)
        assert network(jnp.zeros((6, 5, 5))).shape == (6, 5, 2)
