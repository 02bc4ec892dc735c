"""Weights by ratios. ε = 0.2, so that ratios are clipped to [0.8, 1.2]."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

from ascpo.surrogates.reward import reward_loss
from ascpo.surrogates.weights import RatioClip, Weights
from tests.surrogates.helpers import evidence

CLIP = 0.2
RATIO = jnp.array([[0.5, 1.0, 1.5]])
LOW_AND_HIGH = st.floats(0.0625, 0.75, width=32) | st.floats(0.8125, 1.1875, width=32) | st.floats(1.25, 5.0, width=32)
"""Not on the border itself, where a gradient may be either side's."""
RATIOS = hnp.arrays(np.float32, (2, 3), elements=LOW_AND_HIGH)
WEIGHED = hnp.arrays(np.float32, (2, 3), elements=st.floats(-3, 3, width=32).map(lambda z: round(z, 3)))


@settings(deadline=None, derandomize=True, max_examples=30)
@given(RATIOS, WEIGHED)
def test_without_a_clip_weights_are_the_ratios(ratio, z):
    weights = Weights(jnp.asarray(ratio))
    assert_allclose(weights.times(jnp.asarray(z)), ratio * z, rtol=1e-6)
    assert_allclose(weights.change(jnp.asarray(z)), (ratio - 1) * z, rtol=1e-6)


@pytest.mark.parametrize(
    ("z", "expected"),
    [(2.0, [0.8 * 2, 2.0, 1.5 * 2]), (-2.0, [-0.5 * 2, -2.0, -1.2 * 2]), (0.0, [0.0, 0.0, 0.0])],
)
def test_a_clipped_estimate_is_the_larger_of_clipped_and_unclipped(z, expected):
    weighed = jnp.full((1, 3), z)
    assert_allclose(Weights(RATIO, CLIP).times(weighed)[0], expected, rtol=1e-6)
    assert_allclose(Weights(RATIO, CLIP).change(weighed)[0], np.array(expected) - z, atol=1e-6)


@pytest.mark.parametrize(("z", "expected"), [(2.0, [0.5 * 2, 2.0, 1.2 * 2]), (-2.0, [-0.8 * 2, -2.0, -1.5 * 2])])
def test_an_optimistic_estimate_is_the_smaller_of_clipped_and_unclipped(z, expected):
    weighed = jnp.full((1, 3), z)
    assert_allclose(Weights(RATIO, CLIP, optimistic=True).times(weighed)[0], expected, rtol=1e-6)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(RATIOS, WEIGHED)
def test_a_clipped_estimate_is_never_below_the_unclipped_one(ratio, z):
    clipped = Weights(jnp.asarray(ratio), CLIP).times(jnp.asarray(z))
    assert_allclose(clipped, np.maximum(ratio * z, np.clip(ratio, 0.8, 1.2) * z), rtol=1e-5)
    assert np.all(clipped >= ratio * z)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(RATIOS, WEIGHED)
def test_beyond_the_clip_improvements_have_no_gradient_and_all_else_keeps_its_own(ratio, z):
    """Costs (z > 0) that became rarer than 1 − ε, and savings (z < 0) that became more common than 1 + ε."""
    gradient = jax.grad(lambda xi: jnp.sum(Weights(xi, CLIP).times(jnp.asarray(z))))(jnp.asarray(ratio))
    gained_enough = ((z > 0) & (ratio < 0.8)) | ((z < 0) & (ratio > 1.2))
    assert_allclose(gradient, np.where(gained_enough, 0.0, z), rtol=1e-6)


def test_at_the_old_policy_a_clip_changes_no_gradient():
    z = jnp.array([[3.0, -2.0, 0.5]])
    gradient = jax.grad(lambda xi: jnp.sum(Weights(xi, CLIP).change(z)))(jnp.ones((1, 3)))
    assert_allclose(gradient, z)


@pytest.mark.parametrize("clip", [None, CLIP])
def test_one_ratio_weighs_all_signals_of_its_step(clip):
    z = jnp.arange(12.0).reshape(2, 3, 2) - 5.0
    ratio = jnp.array([[0.5, 1.0, 1.5], [1.1, 0.9, 2.0]])
    weights = Weights(ratio, clip)
    for k in range(2):
        assert_allclose(weights.times(z)[..., k], weights.times(z[..., k]))
        assert_allclose(weights.change(z)[..., k], weights.change(z[..., k]))


def test_the_reward_loss_is_minus_the_mean_of_ratio_times_advantage():
    some = evidence(np.zeros((1, 3, 1)), advantage=[[1.0, -2.0, 4.0]])
    assert_allclose(reward_loss(some, Weights(RATIO)), -(0.5 - 2.0 + 6.0) / 3, rtol=1e-6)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(RATIOS, WEIGHED)
def test_the_clipped_reward_loss_is_minus_the_mean_of_the_smaller_of_two(ratio, A):
    some = evidence(np.zeros((2, 3, 1)), advantage=A)
    expected = -np.mean(np.minimum(ratio * A, np.clip(ratio, 0.8, 1.2) * A))
    assert_allclose(reward_loss(some, Weights(jnp.asarray(ratio), CLIP)), expected, rtol=1e-5, atol=1e-6)


def test_costs_are_clipped_pessimistically_by_default():
    assert not RatioClip(0.2).optimistic_costs
