import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.experience import augmentation
from ascpo.experience.augmentation import LastCost, NoAugmentation, RunningMaximum, RunningSum, cost_increment

running_maximum = jax.jit(augmentation.running_maximum)
update = jax.jit(RunningMaximum().update)
COSTS = hnp.arrays(np.float32, (7, 3, 2), elements=st.floats(0, 1, width=32))
ENDS = hnp.arrays(bool, (7, 3))


def test_the_increments_of_a_worked_example():
    M = jnp.zeros(1)
    increments = []
    for C in (0.0, 0.2, 0.1, 0.5):
        D, M = cost_increment(jnp.array([C]), M)
        increments.append(float(D[0]))
    assert_allclose(increments, [0.0, 0.2, 0.0, 0.3], atol=1e-7)
    assert_allclose(M, [0.5])


@settings(deadline=None, max_examples=50)
@given(COSTS)
def test_the_increments_of_an_episode_sum_to_its_largest_cost(C):
    never = jnp.zeros(C.shape[:2], bool)
    M, M_next = running_maximum(jnp.asarray(C), never, jnp.zeros((3, 2)))
    assert_allclose(jnp.sum(M_next - M, axis=0), C.max(axis=0), atol=1e-6)
    assert bool(jnp.all(M_next >= M))


@settings(deadline=None, max_examples=20)
@given(COSTS, ENDS)
def test_augmentations_are_the_same_step_by_step_and_computed_afterwards(C, ends):
    M, _ = running_maximum(jnp.asarray(C), jnp.asarray(ends), jnp.zeros((3, 2)))
    for env in range(3):
        remembered = np.zeros(2, np.float32)
        for t in range(len(C)):
            assert_allclose(M[t, env], remembered, rtol=1e-6)
            remembered = (
                np.zeros(2, np.float32) if ends[t, env] else np.asarray(update(remembered, C[t, env], C[t, env]))
            )


def test_costs_below_zero_count_as_zero():
    assert_array_equal(RunningMaximum().update(jnp.zeros(1), jnp.zeros(1), jnp.array([-1.0])), [0.0])


def test_a_maximum_that_starts_below_zero_keeps_the_nearest_miss():
    kind, M = RunningMaximum(start=-0.1), jnp.array(RunningMaximum(start=-0.1).initial(1))
    for signed, largest in ((-0.5, -0.1), (-0.04, -0.04), (-0.3, -0.04), (0.2, 0.2)):
        M = kind.update(M, jnp.maximum(jnp.array([signed]), 0.0), jnp.array([signed]))
        assert_allclose(M, [largest])


def test_a_running_maximum_continues_from_the_last_rollout():
    M, M_next = running_maximum(jnp.array([[[0.1]], [[0.4]]]), jnp.zeros((2, 1), bool), jnp.array([[0.3]]))
    assert_allclose(M[:, 0, 0], [0.3, 0.3])
    assert_allclose(M_next[:, 0, 0], [0.3, 0.4])


def test_without_an_augmentation_nothing_is_added():
    assert NoAugmentation().initial(3) == ()


def test_each_augmentation_begins_with_zero_for_every_constraint():
    for kind in (RunningMaximum(), RunningSum(), LastCost()):
        assert kind.initial(3) == (0.0, 0.0, 0.0)


def test_a_running_sum_adds_up_costs_and_a_last_cost_keeps_only_one():
    before, cost = jnp.array([0.5, 0.25]), jnp.array([0.25, 0.0])
    assert_array_equal(RunningSum().update(before, cost, -cost), [0.75, 0.25])
    assert_array_equal(LastCost().update(before, cost, -cost), [0.25, 0.0])
    assert_array_equal(NoAugmentation().update(before, cost, -cost), before)


def test_a_running_sum_continues_from_the_last_rollout_and_ends_with_its_episode():
    ends = jnp.array([False, True, False])[:, None]
    Z, Z_next = augmentation.running_sum(jnp.array([0.5, 0.25, 1.0])[:, None, None], ends, jnp.array([[2.0]]))
    assert_array_equal(Z[:, 0, 0], [2.0, 2.5, 0.0])
    assert_array_equal(Z_next[:, 0, 0], [2.5, 2.75, 1.0])
