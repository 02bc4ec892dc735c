"""Observations in units of their own mean and deviation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.networks.normaliser import Units, no_observations
from ascpo.training.runs import HostMap, RunGroup
from tests.slow import LONG, always, slow
from tests.training.made import agent_of, rollout_of

following = jax.jit(lambda normaliser, part: normaliser.after(part))


@settings(max_examples=20 if LONG else 4, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_the_statistics_are_those_of_all_observations_however_they_are_batched(sizes, seed):
    rng = np.random.default_rng(seed)
    parts = [rng.uniform(-1.0, 1.0, (n, 3)).astype(np.float32) * [1.0, 30.0, 0.1] + [0.0, 5.0, 1.0] for n in sizes]
    normaliser = no_observations(3)
    for part in parts:
        # A first batch of one has no deviation, so that later ones are outliers.
        normaliser = following(normaliser, part.astype(np.float32))
    every = np.concatenate(parts)
    assert normaliser.count == len(every)
    if len(parts[0]) > 5:
        assert_allclose(normaliser.mean, every.mean(axis=0), rtol=1e-4, atol=1e-4)
        assert_allclose(normaliser.variance, every.var(axis=0), rtol=1e-3, atol=1e-4)


def test_normalised_observations_have_mean_zero_and_standard_deviation_one():
    x = jnp.asarray(np.random.default_rng(0).normal([3.0, -100.0], [2.0, 500.0], (10000, 2)), jnp.float32)
    seen = no_observations(2).after(x).units(x)
    assert_allclose(jnp.mean(seen, axis=0), 0.0, atol=1e-3)
    assert_allclose(jnp.std(seen, axis=0), 1.0, atol=0.01)


def test_observations_stay_as_they_are_before_the_first_epoch_and_within_bounds_always():
    assert_array_equal(no_observations(2).units(jnp.array([3.0, -4.0])), [3.0, -4.0])
    assert_array_equal(Units(jnp.zeros(2), jnp.full(2, 0.1))(jnp.array([1e9, -1e9])), [10.0, -10.0])


def test_constant_observations_are_normalised_to_zero():
    x = jnp.full((50, 1), 9.81)
    assert_allclose(no_observations(1).after(x).units(x), 0.0, atol=1e-3)


def test_an_outlier_counts_as_its_clipped_value():
    normal = jnp.asarray(np.random.default_rng(0).normal(size=(1000, 1)), jnp.float32)
    usual = no_observations(1).after(normal)
    hit = usual.after(jnp.concatenate([normal[:-1], jnp.array([[1e6]])]))
    assert hit.units.std < 1.1 * usual.units.std


@pytest.mark.parametrize("algo", always(["trpo", "trpo-usl"], "trpo-usl"))
@slow("compiles its own epoch")
def test_acting_and_learning_use_the_same_normaliser_which_changes_after_the_epoch(algo):
    agent = agent_of(algo, normalise_observations=True)
    start = agent.init(0)
    group = RunGroup(agent, [start], HostMap())
    rollout = rollout_of(agent)
    raw = agent.sizes.observation
    theta, _ = group.act()
    group.learn(jax.tree.map(lambda x: x[None], rollout), lambda name: None)
    after = group.state(0)()
    expected = start.normaliser.after(rollout.observation[..., :raw])
    assert_allclose(after.normaliser.mean, expected.mean, rtol=1e-6)
    observation, noise = rollout.observation[0, 0], jnp.zeros(agent.sizes.action)
    decided = agent.actor.decide(agent.acting(after), observation, noise).action
    seen = jnp.concatenate([after.normaliser.units(observation[:raw]), observation[raw:]])
    assert_allclose(decided, agent.policy(after.policy.theta)(seen).mean, rtol=1e-5)
    assert theta.shape[1] == agent.acting(after).size
    before = agent.actor.decide(theta[0], observation, noise).action
    assert_allclose(before, agent.policy(start.policy.theta)(observation).mean, rtol=1e-5)
