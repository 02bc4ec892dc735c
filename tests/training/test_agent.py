"""The initial state of an agent, and its actions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.algorithms import ASCPO
from ascpo.errors import BadSetting, InertSetting
from ascpo.training.agent import agent_for
from ascpo.training.settings import Settings
from tests.training.made import ACT, ENVS, OBS, TIME, agent_of


def test_cost_critics_whose_output_is_never_negative_begin_near_zero():
    """A softplus of −4 is 0.018; sums of either sign begin where chance puts them."""
    bias = lambda agent: np.asarray(agent.init(0).cost.params.body.layers[-1].bias)  # noqa: E731
    assert_array_equal(bias(agent_of("scpo")), [-4.0, -4.0])
    assert_array_equal(bias(agent_of("scpo", output_bias=-2.0)), [-2.0, -2.0])
    assert np.all(np.abs(bias(agent_of("cpo"))) < 0.5 + 1e-6)


def test_a_policy_begins_with_the_spread_of_its_settings():
    agent = agent_of("trpo")
    assert_allclose(agent.policy(agent.init(0).policy.theta).log_std, [-0.5] * ACT)
    wide = agent_of("trpo", initial_log_std=0.25)
    assert_allclose(wide.policy(wide.init(0).policy.theta).log_std, [0.25] * ACT)


@pytest.mark.parametrize("union_bound", [False, True])
def test_every_chernoff_bound_needs_near_misses(union_bound):
    with pytest.raises(BadSetting, match="learns from near misses"):
        agent_of(ASCPO(mode="chernoff", union_bound=union_bound))


def test_initial_networks_are_drawn_with_different_keys():
    state = agent_of("trpo-fac").init(0)
    layers = state.value.params.body.layers[0], state.cost.params.body.layers[0]
    (lam_weight, _), *_ = state.policy.multiplier[0]
    weights = [np.asarray(layer.weight).ravel() for layer in layers] + [np.asarray(lam_weight).ravel()]
    for i, one in enumerate(weights):
        for other in weights[i + 1 :]:
            assert not np.intersect1d(one, other).size


def test_the_first_state_is_a_function_of_the_seed():
    agent = agent_of("ascpo")
    same, again, other = agent.init(3), agent.init(3), agent.init(4)
    assert_array_equal(same.policy.theta, again.policy.theta)
    assert not np.array_equal(same.policy.theta, other.policy.theta)
    assert not np.array_equal(jax.random.key_data(same.key), jax.random.key_data(other.key))


def test_the_first_state_has_no_statistics():
    state = agent_of("cpo-cvar").init(0)
    assert_array_equal(state.policy.nu, [0.0, 0.0])
    assert_array_equal(state.running.length, np.zeros(ENVS))
    assert not bool(jnp.any(state.window.known))
    assert state.window.observation.shape == (2 * TIME, ENVS, OBS + 2)
    assert_array_equal(state.policy.target, [0.0, 0.0])
    assert_array_equal(state.episode_nu, np.zeros((ENVS, 2)))
    assert (float(state.trend.sums.steps), float(state.trend.longest)) == (0.0, 0.0)


def test_algorithms_that_differ_only_in_learning_have_equal_actors():
    plain = agent_of("trpo").actor
    assert {agent_of(name).actor for name in ("trpo-lagrangian", "cpo", "pcpo", "trpo-fac")} == {plain}
    others = {agent_of(name).actor for name in ("scpo", "trpo-cvar", "trpo-sl", "trpo-usl")}
    assert (len(others), plain in others) == (4, False)
    assert agent_of("trpo", hidden=(8, 8, 8)).actor != plain


@pytest.mark.parametrize(("epochs", "warm_up"), [(1, 1), (30, 10), (31, 11)])
def test_a_shield_does_not_act_in_the_first_third_of_a_training(epochs, warm_up):
    shield = agent_of("trpo-sl").init(0, epochs).shield
    assert (int(shield.epochs), int(shield.warm_up)) == (0, warm_up)
    assert not bool(shield.active)


def test_the_arrays_of_an_actor_are_the_policy_the_shield_and_whether_it_acts():
    agent = agent_of("trpo-sl")
    state = agent.init(0)
    acting = np.asarray(agent.acting(state))
    p = agent.actor.networks.policy_size
    assert_array_equal(acting[:p], state.policy.theta)
    assert acting[-1] == 0.0
    assert len(acting) == p + sum(leaf.size for leaf in jax.tree.leaves(state.shield.critic.params)) + 1
    plain = agent_of("trpo")
    assert_array_equal(plain.acting(plain.init(0)), plain.init(0).policy.theta)


def test_an_active_shield_corrects_by_the_limits_of_learning():
    """The linear model expects the last cost, 1, and what the action adds. A margin makes it correct by more."""
    observation, noise = jnp.concatenate([jnp.ones(OBS), jnp.array([0.0, 1.0])]), jnp.zeros(ACT)
    taken = []
    for margin in (0.0, 0.2):
        agent = agent_of("trpo-sl", margin=margin, limits=(9.0, 0.9))
        theta = agent.acting(agent.init(0))
        resting = agent.actor.decide(theta, observation, noise)
        assert_array_equal(resting.action, resting.taken)
        acting = agent.actor.decide(theta.at[-1].set(1.0), observation, noise)
        assert_array_equal(acting.action, resting.action)
        taken.append(float(jnp.linalg.norm(acting.taken - acting.action)))
    assert 0 < taken[0] < taken[1]
    assert_allclose(agent.learning_limits, [8.8, 0.7], rtol=1e-6)


def test_noise_differs_from_epoch_to_epoch():
    agent = agent_of("trpo")
    state, first = agent.noise(agent.init(0))
    _, second = agent.noise(state)
    assert first.shape == (TIME, ENVS, ACT)
    assert not np.array_equal(first, second)
    assert_allclose([float(first.mean()), float(first.std())], [0.0, 1.0], atol=0.4)


def test_cutting_episodes_resets_every_part_of_the_state():
    agent = agent_of("scpo")
    state = agent.cut(agent.init(0))
    assert bool(jnp.all(state.window.done[-1]))
    assert_array_equal(state.running.max_cost, np.zeros((ENVS, 2)))


def test_an_agent_is_made_for_the_sizes_of_an_engine():
    class Sized:
        observation_size, action_size, cost_names, has_margins = 5, 3, ("one", "other"), False

    agent = agent_for(Sized(), agent_of("scpo").algorithm, Settings(num_envs=4, hidden=(4,), limits=(0.5,)))
    assert (agent.sizes.num_envs, agent.sizes.observation, agent.sizes.action, agent.sizes.m) == (4, 5, 3, 2)
    assert agent.limits == (0.5, 0.5)
    assert agent.observation_size == 7
    assert agent.signals == 2
    with pytest.raises(InertSetting, match="does not say how near its costs are"):
        agent_for(Sized(), agent_of("scpo").algorithm, Settings(near_miss=0.1))
