"""The fit of the critics: what it changes and what it does not."""

from dataclasses import replace
from functools import partial

import jax
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.training.estimate import estimate
from ascpo.training.fit import fit_critics
from tests.slow import slow
from tests.training.made import agent_of, rollout_of


def fitted(agent, epochs=1):
    state = agent.init(0, 30)
    for seed in range(epochs):
        estimates = estimate(agent, state, rollout_of(agent, seed))
        state, losses = fit_critics(agent, state, estimates)
    return state, losses, estimates


@slow("compiles")
def test_every_network_of_an_agent_has_a_loss_and_moves():
    agent = agent_of("scpo")
    before, (after, losses, estimates) = agent.init(0, 30), fitted(agent)
    assert set(losses) == {"value", "cost"}
    assert all(loss > 0 for loss in losses.values())
    for old, new in ((before.value, after.value), (before.cost, after.cost)):
        moved = [np.any(a != b) for a, b in zip(*map(jax.tree.leaves, (old.params, new.params)), strict=True)]
        assert all(moved)
    assert_array_equal(after.running.length, estimates.running.length)
    assert_array_equal(after.window.signal, estimates.window.signal)
    assert_array_equal(after.policy.theta, before.policy.theta)


def test_cost_critics_see_earlier_epochs_with_the_current_normalisation():
    """So they are fitted as if all observations of the window had come normalised as today's are."""
    agent, plain = agent_of("cpo", normalise_observations=True), agent_of("cpo")
    first, second = rollout_of(agent, 0), rollout_of(agent, 1)
    state = replace(agent.init(0), normaliser=agent.init(0).normaliser.after(5.0 + 3.0 * first.observation))
    begun = replace(state, window=estimate(agent, agent.init(0), first).window)
    estimates = estimate(agent, begun, second)
    assert_array_equal(estimates.window.observation, np.concatenate([first.observation, second.observation]))
    seen = agent.network_input(state.normaliser, estimates.window.observation)
    as_seen = replace(estimates, window=replace(estimates.window, observation=seen))
    found = fit_critics(agent, begun, estimates)[0].cost.params
    expected = fit_critics(plain, replace(begun, normaliser=None), as_seen)[0].cost.params
    jax.tree.map(partial(assert_allclose, rtol=1e-5, atol=1e-6), found, expected)


def test_each_epoch_draws_with_its_own_key():
    agent = agent_of("scpo")
    keys = [agent.init(0, 30).key, fitted(agent)[0].key, fitted(agent, 2)[0].key]
    assert len({jax.random.key_data(key).tobytes() for key in map(jax.device_get, keys)}) == 3


def test_a_shield_counts_the_epochs_that_it_has_learned_from():
    agent = agent_of("trpo-sl")
    after, losses, _ = fitted(agent, 10)
    assert set(losses) == {"value", "shield"}
    assert int(after.shield.epochs) == 10
    assert bool(after.shield.active), "a third of thirty epochs is over"
    assert not bool(fitted(agent, 9)[0].shield.active)
