import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose

from ascpo.experience.augmentation import running_maximum, running_sum
from ascpo.experience.signals import ChernoffWeights, Costs, UnionBound, crossings, expected_cost, increments, moments
from ascpo.theory.chernoff import chernoff_weight

C = jnp.array([0.0, 0.2, 0.1, 0.5])[:, None, None]
NEVER = jnp.zeros((4, 1), bool)
M, M_NEXT = running_maximum(C, NEVER, jnp.zeros((1, 1)))
SUMS = running_sum(C, NEVER, jnp.zeros((1, 1)))
W = jnp.array([0.15])


def costs(w=W):
    return Costs(C, M, M_NEXT, w, *SUMS, jnp.array([0.3]))


def total(signal):
    return jnp.sum(signal(costs()), axis=(0, 1))


def test_expected_cost_sums_to_the_cost():
    assert_allclose(total(expected_cost), [0.8], rtol=1e-6)


def test_increments_sum_to_the_maximum():
    assert_allclose(total(increments), [0.5], rtol=1e-6)


def test_moments_sum_to_the_maximum_and_its_square():
    assert_allclose(total(moments), [0.5, 0.25], rtol=1e-6)


def test_the_limit_is_crossed_once():
    assert_allclose(crossings(costs())[:, 0, 0], [0.0, 1.0, 0.0, 0.0])


def test_a_cost_at_the_limit_does_not_cross_it():
    assert_allclose(crossings(costs(jnp.array([0.5]))), 0.0)


def test_chernoff_weights_sum_to_the_weight_of_the_largest_signed_cost():
    """With h = 0.3 the costs 0, 0.2, 0.1 and 0.5 are 0.3 or more, 0.1 and 0.2 before the border, and 0.2 beyond it."""
    for steps in range(1, 5):
        seen = Costs(C[:steps], M[:steps], M_NEXT[:steps], W, SUMS[0][:steps], SUMS[1][:steps], jnp.array([0.3]), h=0.3)
        found = jnp.sum(ChernoffWeights(tau=0.1, cap=3.0)(seen))
        largest = np.array(float(jnp.max(C[:steps])) - 0.3)
        assert_allclose(found, chernoff_weight(largest, 0.15, tau=0.1, cap=3.0, h=0.3), rtol=1e-5)


def test_a_union_bound_sums_the_weights_of_all_states_and_is_at_least_the_largest():
    seen, weights = Costs(C, M, M_NEXT, W, *SUMS, jnp.array([0.3]), h=0.3), ChernoffWeights(tau=0.1, cap=3.0)
    found = UnionBound(weights)(seen)
    assert_allclose(found, chernoff_weight(np.asarray(C) - 0.3, 0.15, tau=0.1, cap=3.0, h=0.3), rtol=1e-5)
    assert float(jnp.sum(found)) > float(jnp.sum(weights(seen)))
