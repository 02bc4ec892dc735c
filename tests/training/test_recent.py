"""The policies of the last epochs: which are kept, and their mean."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ascpo.training.estimate import estimate
from ascpo.training.recent import last_thetas, mean_theta, no_policies, remember
from ascpo.training.update import update
from tests.training.made import agent_of, rollout_of


def after(thetas, n=3):
    recent = no_policies(n, 2)
    for theta in thetas:
        recent = remember(recent, jnp.array(theta))
    return recent


def test_the_mean_policy_is_that_of_the_last_epochs_only():
    """Of (9, 9), (1, 0), (2, 4), (6, 2) the last three have the mean (3, 2)."""
    thetas = [[9.0, 9.0], [1.0, 0.0], [2.0, 4.0], [6.0, 2.0]]
    kept = last_thetas(after(thetas), np.array([6.0, 2.0]))
    assert_array_equal(kept, thetas[1:])
    assert_array_equal(mean_theta(kept), [3.0, 2.0])


def test_in_a_short_training_the_mean_policy_is_that_of_all_epochs():
    recent = after([[1.0, 5.0], [3.0, 1.0]])
    assert int(recent.count) == 2
    assert_array_equal(mean_theta(last_thetas(recent, np.array([3.0, 1.0]))), [2.0, 3.0])


def test_without_kept_policies_the_mean_is_the_present_policy():
    """A training that keeps none, and one that a checkpoint of an earlier version continues."""
    for recent in (None, no_policies(3, 2)):
        assert_array_equal(last_thetas(recent, jnp.array([7.0, 8.0])), [[7.0, 8.0]])


def test_the_mean_of_equal_policies_is_that_policy():
    """Sums in single precision would differ from them in the last bits."""
    theta = np.float32(0.1) * np.arange(1, 1000, dtype=np.float32)
    assert_array_equal(mean_theta(np.tile(theta, (20, 1))), theta)


@pytest.mark.usefixtures("unchecked_shapes")
def test_runs_in_a_batch_keep_their_own_policies():
    recent = jax.vmap(lambda _: no_policies(2, 1))(jnp.arange(3))
    for step in (1.0, 2.0, 4.0):
        recent = jax.vmap(remember)(recent, step * jnp.array([[1.0], [10.0], [100.0]]))
    assert_array_equal(recent.theta[:, :, 0], [[2.0, 4.0], [20.0, 40.0], [200.0, 400.0]])
    assert_array_equal(recent.count, [2, 2, 2])


def test_the_update_keeps_the_policy_that_it_made():
    agent = agent_of("trpo", average_epochs=2)
    state, made = agent.init(0), []
    assert agent_of("trpo", average_epochs=0).init(0).recent is None
    for epoch in range(3):
        rollout = rollout_of(agent, epoch)
        state, _, _ = update(agent, state, rollout, estimate(agent, state, rollout))
        made.append(np.asarray(state.policy.theta))
    assert not np.array_equal(made[0], made[2])
    assert_array_equal(last_thetas(state.recent, state.policy.theta), made[1:])
