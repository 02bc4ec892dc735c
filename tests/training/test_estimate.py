"""Estimates from a rollout, against the definitions in NumPy."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.algorithms import ASCPO, CPO
from ascpo.surrogates.settings import TargetSettings
from ascpo.training.estimate import estimate
from ascpo.training.state import Sizes
from tests.slow import always
from tests.training.made import ACT, ENVS, OBS, TIME, agent_of, rollout_of

CANTELLI = agent_of(ASCPO(mode="cantelli"))
LIMITED = TargetSettings(timeout_limit=0.01)
UNION = ASCPO(mode="chernoff", union_bound=True, target=LIMITED)


def ends(done, env, t):
    """The last step of the episode that step t belongs to, or of the rollout."""
    after = np.flatnonzero(done[t:, env])
    return t + after[0] if len(after) else len(done) - 1


def written_out(x, V, V_next, done, ended, discount, lam):
    """A and R of every step; after a step of `ended` nothing follows."""
    A, R = np.zeros_like(x), np.zeros_like(x)
    follows = np.where(ended, 0.0, V_next)
    for env in range(x.shape[1]):
        for t in range(len(x)):
            last = ends(done, env, t)
            steps = range(t, last + 1)
            A[t, env] = sum(
                (discount * lam) ** (i - t) * (x[i, env] + discount * follows[i, env] - V[i, env]) for i in steps
            )
            R[t, env] = sum(discount ** (i - t) * x[i, env] for i in steps)
            R[t, env] += discount ** (last - t + 1) * follows[last, env]
    return A, R


def plain(rollout):
    return {name: np.asarray(value) for name, value in vars(rollout).items() if value is not None}


def test_advantages_of_the_reward_are_gae_and_normalised():
    agent = agent_of("trpo", discount=0.9, gae_lambda=0.8)
    state, rollout = agent.init(0), rollout_of(agent)
    found, r = estimate(agent, state, rollout), plain(rollout)
    critic = agent.value_critic(state.value.params)
    V, V_next = (np.asarray(critic(x))[..., 0] for x in (rollout.observation, rollout.next_observation))
    done = r["terminated"] | r["truncated"]
    A, R = written_out(r["reward"], V, V_next, done, r["terminated"], 0.9, 0.8)
    assert_allclose(found.evidence.advantage, (A - A.mean()) / A.std(), rtol=1e-4, atol=1e-5)
    assert_allclose(found.value_batch.target[..., 0], R, rtol=1e-4, atol=1e-5)
    assert_array_equal(found.value_batch.last, done)
    assert bool(jnp.all(found.value_batch.known))
    assert found.evidence.cost_advantage.shape == (TIME, ENVS, 0)
    known = np.array([[done[t:, e].any() for e in range(ENVS)] for t in range(TIME)])
    assert_allclose(found.quality.value, 1 - np.var((R - V)[known]) / np.var(R[known]), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("algo", ["scpo", "trpo-lagrangian"])
def test_logs_use_the_limits_and_learning_uses_the_margin_across_epochs(algo):
    """SCPO's limits bound the largest cost of an episode, TRPO-Lagrangian's the sum of its costs."""
    limits, margin = (0.6, 0.8), 0.3
    agent = agent_of(algo, limits=limits, margin=margin)
    state, rollout = agent.init(0), rollout_of(agent)
    found = estimate(agent, state, rollout)
    done, cost = np.asarray(rollout.done), np.asarray(rollout.cost)
    ended, largest, total = [], np.zeros((ENVS, 2)), np.zeros((ENVS, 2))
    for t in range(TIME):
        largest, total = np.maximum(largest, cost[t]), total + cost[t]
        ended += [(largest[e].copy(), total[e].copy()) for e in range(ENVS) if done[t, e]]
        largest[done[t]] = total[done[t]] = 0.0
    maxima, sums = (np.array(each) for each in zip(*ended, strict=True))
    limited = maxima if algo == "scpo" else sums
    assert_allclose(found.episodes.max_cost, maxima.mean(axis=0), rtol=1e-5)
    assert_allclose(found.episodes.cost, sums.mean(axis=0), rtol=1e-5)
    assert_allclose(found.episodes.violation_rates, (limited > limits).mean(axis=0), rtol=1e-5)
    below = (limited > np.array(limits) - margin).mean(axis=0)
    assert_allclose(found.evidence.episodes.violation_rates, below, rtol=1e-5)
    assert below.sum() > (limited > limits).mean(axis=0).sum()
    assert_allclose(found.running.max_cost, largest, rtol=1e-6)
    assert_allclose(found.evidence.episodes.count, TIME * ENVS / found.evidence.trend.length, rtol=1e-5)


def test_cost_critics_are_fitted_to_increments_of_the_maximum_and_of_its_square():
    agent = CANTELLI
    state, rollout = agent.init(0), rollout_of(agent)
    found, r = estimate(agent, state, rollout), plain(rollout)
    done, cost = r["terminated"] | r["truncated"], r["cost"]
    M, signal = np.zeros((ENVS, 2), np.float32), []
    for t in range(TIME):
        M_next = np.maximum(M, cost[t])
        signal.append(np.concatenate([M_next - M, M_next**2 - M**2], axis=-1))
        M = np.where(done[t][:, None], 0.0, M_next)
    signal = np.array(signal)
    critic = agent.cost_critic(state.cost.params)
    W, W_next = (np.asarray(critic(x)) for x in (rollout.observation, rollout.next_observation))
    known = np.array([[done[t:, e].any() for e in range(ENVS)] for t in range(TIME)])
    for k in range(4):
        # The largest cost is final when an episode ends, however it does: nothing is expected beyond.
        A, R = written_out(signal[..., k], W[..., k], W_next[..., k], done, done, 1.0, 0.95)
        assert_allclose(found.evidence.cost_advantage[..., k], A - A.mean(), rtol=1e-3, atol=1e-5)
        assert_allclose(found.quality.cost[k], 1 - np.var((R - W[..., k])[known]) / np.var(R[known]), atol=1e-3)
        assert_allclose(found.quality.cost_bias[k], W[known][:, k].sum() / R[known].sum() - 1, rtol=1e-3)
        delta = signal[..., k] + np.where(done, 0.0, W_next[..., k]) - W[..., k]
        assert_allclose(found.evidence.cost_td_error[..., k], delta, rtol=1e-3, atol=1e-5)
    assert_allclose(found.window.signal[-TIME:], signal, rtol=1e-5, atol=1e-6)
    assert_array_equal(found.window.known[:, 0], np.arange(2 * TIME) >= TIME)
    assert found.evidence.cost_to_go is None
    assert found.evidence.cost_tail is None


@pytest.mark.parametrize(("chosen", "used"), always([(None, 0.97), (0.5, 0.5)], (0.5, 0.5)))
def test_a_lambda_of_the_costs_may_be_chosen(chosen, used):
    agent = agent_of("cpo", cost_gae_lambda=chosen)
    state, rollout = agent.init(0), rollout_of(agent)
    found, r = estimate(agent, state, rollout), plain(rollout)
    critic = agent.cost_critic(state.cost.params)
    W, W_next = (np.asarray(critic(x)) for x in (rollout.observation, rollout.next_observation))
    # Costs would continue after a time limit.
    A, _ = written_out(
        r["cost"][..., 1], W[..., 1], W_next[..., 1], r["terminated"] | r["truncated"], r["terminated"], 0.99, used
    )
    assert_allclose(found.evidence.cost_advantage[..., 1], A - A.mean(), rtol=1e-3, atol=1e-5)


def test_the_cost_tail_is_the_excess_over_the_value_at_risk():
    agent = agent_of("trpo-cvar")
    found = estimate(agent, agent.init(0), rollout := rollout_of(agent))
    done, Z, sums = np.asarray(rollout.done), np.zeros((ENVS, 2)), []
    for t in range(TIME):
        Z = Z + np.asarray(rollout.cost[t])
        sums += [Z[e] for e in range(ENVS) if done[t, e]]
        Z = np.where(done[t][:, None], 0.0, Z)
    # ν is 0 at first, so that every cost is in excess of it.
    assert_allclose(found.evidence.cost_tail.excess, np.mean(sums, axis=0), rtol=1e-5)


def test_a_state_multiplier_gets_the_cost_that_followed_each_state():
    agent = agent_of("trpo-fac")
    found = estimate(agent, agent.init(0), rollout_of(agent))
    assert found.evidence.cost_to_go.shape == (TIME, ENVS, 2)


def test_interventions_are_changes_within_the_range_of_actions():
    """Of four actions two are changed: by (0.3, 0.4), of length 0.5, and by 1 after clipping. Beyond ±1 is the same."""
    agent = agent_of("trpo-sl")
    drawn = jnp.zeros((TIME, ENVS, 2))
    taken = drawn.at[0, 0].set(jnp.array([0.3, 0.4])).at[1, 0].set(jnp.array([7.0, 0.0]))
    drawn, taken = drawn.at[2, 1, 0].set(3.0), taken.at[2, 1, 0].set(2.0)
    found = estimate(agent, agent.init(0), rollout_of(agent, action=drawn, taken=taken))
    assert_allclose(found.interventions, [2 / (TIME * ENVS), (0.5 + 1.0) / 2], rtol=1e-5)
    assert_allclose(found.shield_batch.observation[..., -2:], jnp.clip(taken, -1, 1))


def test_a_shield_that_changes_nothing_has_a_mean_shift_of_zero():
    agent = agent_of("trpo-sl")
    rollout = rollout_of(agent)
    found = estimate(agent, agent.init(0), rollout_of(agent, taken=rollout.action))
    assert_array_equal(found.interventions, [0.0, 0.0])


def test_a_single_small_change_counts_as_an_intervention():
    agent = agent_of("trpo-sl")
    drawn = jnp.zeros((TIME, ENVS, 2))
    found = estimate(agent, agent.init(0), rollout_of(agent, action=drawn, taken=drawn.at[0, 0, 0].set(1e-4)))
    assert_allclose(found.interventions, [1 / (TIME * ENVS), 1e-4], rtol=1e-4)


def test_a_shielded_rollout_must_say_which_actions_were_taken():
    agent = agent_of("trpo-sl")
    with pytest.raises(ValueError, match="which actions were taken"):
        estimate(agent, agent.init(0), rollout_of(agent, taken=None))


def test_learning_uses_near_misses_and_measurements_use_real_costs():
    """Without critics' help: of a policy whose costs never come, but come near."""
    plain_agent = agent_of(ASCPO(), limits=(0.0, 0.0))
    agent = agent_of(ASCPO(), limits=(0.0, 0.0), near_miss=0.2, near_miss_end=0.2)
    signed = np.random.default_rng(5).uniform(-0.4, -0.01, (TIME, ENVS, 2)).astype(np.float32)
    rollout = rollout_of(agent, cost=np.zeros_like(signed), signed_cost=signed)
    found = estimate(agent, agent.init(0), rollout)
    done = np.asarray(rollout.done)
    expected, crossed = np.zeros_like(signed), np.zeros((ENVS, 2), bool)
    for t in range(TIME):
        now = signed[t] > -0.2
        expected[t], crossed = now & ~crossed, crossed | now
        crossed[done[t]] = False
    assert_array_equal(found.window.signal[-TIME:], expected)
    assert expected.sum() > 3
    assert_array_equal(found.episodes.violation_rates, [0.0, 0.0])
    assert_array_equal(found.evidence.trend.violation_rates, [0.0, 0.0])
    assert not np.asarray(estimate(plain_agent, plain_agent.init(0), rollout).window.signal).any()


def test_time_outs_have_their_own_signal():
    agent = agent_of(ASCPO(target=LIMITED))
    rollout = rollout_of(agent)
    found = estimate(agent, agent.init(0), rollout)
    assert_array_equal(found.window.signal[-TIME:, :, -1], rollout.truncated)
    assert found.evidence.cost_advantage.shape[-1] == 3


@pytest.mark.parametrize("method", [CPO(target=LIMITED), UNION], ids=["cpo", "union bound"])
def test_the_critic_of_time_outs_predicts_a_probability_even_if_costs_are_discounted(method):
    """Every episode of three steps times out, for certain: no discount, and no more after it."""
    agent = agent_of(method, near_miss=0.3, near_miss_end=0.3)
    ended = np.zeros((TIME, ENVS), bool)
    ended[2::3] = True
    cost = np.zeros((TIME, ENVS, 2), np.float32)
    rollout = rollout_of(agent, terminated=np.zeros_like(ended), truncated=ended, cost=cost, signed_cost=cost - 1.0)
    window = estimate(agent, agent.init(0), rollout).window
    targets = window.targets([critics.discount for critics in agent.critics_by_signal])[-TIME:, :, -1]
    assert_array_equal(targets[: TIME // 3 * 3], 1.0)


@pytest.mark.parametrize(("union_bound", "more"), [(False, 0.0), (True, np.exp(-2.0))])
def test_the_mean_of_the_chernoff_weights_is_the_bound(union_bound, more):
    """The episodes' largest costs are the last ones; the first before them is too far away to weigh anything."""
    method = ASCPO(mode="chernoff", tau=0.1, union_bound=union_bound)
    agent = agent_of(method, limits=(0.0,), near_miss=0.3, near_miss_end=0.3)
    signed = np.array([-0.5, -0.1, -0.2, 0.05], np.float32)[:, None, None]
    ended = np.array([False, True, False, True])[:, None]
    given = {"terminated": ended, "truncated": np.zeros_like(ended)}
    agent = replace(agent, settings=replace(agent.settings, num_envs=1, horizon=4), sizes=Sizes(1, OBS, ACT, 1, True))
    rollout = rollout_of(agent, time=4, cost=np.maximum(signed, 0.0), signed_cost=signed, **given)
    evidence = estimate(agent, agent.init(0), rollout).evidence
    bound = agent.algorithm.constraint.offset(evidence, jnp.zeros(1))
    assert_allclose(bound, [(np.exp(-1) + np.exp(0.5) + more) / 2 - 0.02], rtol=1e-4)
