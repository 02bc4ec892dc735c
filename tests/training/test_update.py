"""One step of the policy, the multiplier and the value at risk, against explicit formulas."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.algorithms import ASCPO
from ascpo.surrogates.reward import reward_loss
from ascpo.surrogates.settings import TargetSettings
from ascpo.surrogates.target import Demand
from ascpo.surrogates.weights import Weights
from ascpo.training.estimate import estimate
from ascpo.training.state import Sizes
from ascpo.training.update import _multiplier, _problem, update
from ascpo.trust_region.settings import TrustRegion
from ascpo.trust_region.signal import no_signal
from tests.slow import always, slow
from tests.training.made import TIME, agent_of, rollout_of

EVERY_SECOND = TrustRegion(signal_every=2)


def an_epoch(agent, **given):
    state, rollout = agent.init(0), rollout_of(agent, **given)
    return state, rollout, estimate(agent, state, rollout)


def log_prob(agent, theta, rollout):
    at = agent.policy(theta)(rollout.observation)
    mean, std = np.asarray(at.mean, float), np.exp(np.asarray(at.log_std, float))
    z = (np.asarray(rollout.action) - mean) / std
    return -0.5 * np.sum(z**2, axis=-1) - np.log(std).sum() - np.log(2 * np.pi)


def problem_of(agent, state, rollout, estimates, demand=Demand(jnp.zeros(0))):  # noqa: B008
    return _problem(agent, state.policy, rollout.observation, rollout.action, estimates.evidence, demand)


def away(theta):
    return theta + 0.1 * jax.random.normal(jax.random.key(7), theta.shape)


@pytest.mark.parametrize("clip", [None, 0.2])
def test_the_loss_of_another_policy_weighs_actions_by_the_ratio_of_probabilities(clip):
    agent = agent_of("trpo" if clip is None else "pascpo")
    state, rollout, estimates = an_epoch(agent)
    theta = away(state.policy.theta)
    at = problem_of(agent, state, rollout, estimates).evaluate(theta)
    xi = np.exp(log_prob(agent, theta, rollout) - log_prob(agent, state.policy.theta, rollout))
    A = np.asarray(estimates.evidence.advantage)
    gains = xi * A if clip is None else np.minimum(xi * A, np.clip(xi, 1 - clip, 1 + clip) * A)
    # The multiplier of PASCPO is 0 at first, so that its costs add nothing yet.
    assert_allclose(at.loss, -gains.mean(), rtol=1e-3, atol=1e-5)
    assert at.divergence > 0


def test_the_problem_has_the_constraints_of_the_algorithm_and_the_demand_of_its_target():
    agent = agent_of(ASCPO(mode="moment", k=2.0, target=TargetSettings("own")), margin=0.05)
    state, rollout, estimates = an_epoch(agent)
    theta = away(state.policy.theta)
    problem = _problem(
        agent, state.policy, rollout.observation, rollout.action, estimates.evidence, Demand(jnp.ones(2))
    )
    xi = np.exp(log_prob(agent, theta, rollout) - log_prob(agent, state.policy.theta, rollout))
    A = np.asarray(estimates.evidence.cost_advantage)
    X = np.sum(xi[..., None] * (A[..., :2] + 2.0 * A[..., 2:]), axis=(0, 1)) / estimates.evidence.episodes.count
    assert_allclose(problem.evaluate(theta).constraints, X, rtol=1e-3, atol=1e-5)
    assert_array_equal(problem.offset, [1.0, 1.0])
    _, report, cap = update(agent, state, rollout, estimates)
    episodes = estimates.evidence.episodes
    c = np.asarray(episodes.max_cost + 2.0 * episodes.max_cost_squared) - (np.array(agent.limits) - 0.05)
    assert_allclose(report.asked, c, rtol=1e-3)
    assert np.isnan(cap)


@slow("compiles its own update")
def test_the_cap_of_a_target_is_reported():
    agent = agent_of("ascpo")
    state, rollout, estimates = an_epoch(agent, truncated=jnp.zeros((TIME, 3), bool))
    after, _, cap = update(agent, state, rollout, estimates)
    assert_allclose(cap, 0.97, rtol=1e-5)
    # All episodes violate at first: the feedback asks for all that it may, and its integral rests.
    assert_allclose(after.policy.target, [0.0, 0.0])
    assert not np.array_equal(after.policy.theta, state.policy.theta)


@pytest.mark.parametrize("mode", always(["chance", "moment", "reference"], "chance"))
def test_the_gradients_of_the_two_halves_add_up_to_the_whole(mode):
    """The constraint where the others' steps stay what they were: two of three environments follow."""
    agent = agent_of(ASCPO(mode=mode), trust_region=EVERY_SECOND)
    state, rollout, estimates = an_epoch(agent)
    problem = problem_of(agent, state, rollout, estimates, Demand(jnp.zeros(2)))
    theta = away(state.policy.theta)
    xi = jnp.exp(agent.policy(theta)(rollout.observation).log_prob(rollout.action)) / jnp.exp(
        agent.policy(state.policy.theta)(rollout.observation).log_prob(rollout.action)
    )
    X = agent.algorithm.constraint.surrogate
    followed = jnp.array([True, False, True])
    first, others = jnp.where(followed, xi, 1.0), jnp.where(followed, 1.0, xi)
    assert problem.sub_batch.share == pytest.approx(2 / 3)
    assert_allclose(problem.sub_batch.constraints(theta), X(estimates.evidence, Weights(first)), rtol=1e-4, atol=1e-5)
    rest = lambda point: problem.evaluate(point).constraints - problem.sub_batch.constraints(point)  # noqa: E731
    if mode != "reference":  # Linear in the weights, so that the parts add up anywhere.
        nothing = X(estimates.evidence, Weights(jnp.ones_like(xi)))
        assert_allclose(rest(theta), X(estimates.evidence, Weights(others)) - nothing, rtol=1e-3, atol=1e-4)


def test_the_signal_is_measured_every_so_many_epochs_and_kept_in_between():
    agent = agent_of("ascpo", trust_region=EVERY_SECOND)
    state, rollout, estimates = an_epoch(agent)
    assert_array_equal(state.policy.signal.share, [1.0, 1.0])
    first, report, _ = update(agent, state, rollout, estimates)
    assert np.isfinite(report.signal).all()
    assert_allclose(first.policy.signal.share, np.clip(report.signal, 0, 1), rtol=1e-5)
    second, silent, _ = update(agent, first, rollout, estimates)
    assert np.isnan(silent.signal).all()
    assert_array_equal(second.policy.signal.share, first.policy.signal.share)
    assert np.isfinite(update(agent, second, rollout, estimates)[1].signal).all()


def test_measuring_the_signal_changes_no_step():
    usual = agent_of("ascpo", trust_region=EVERY_SECOND)
    state, rollout, estimates = an_epoch(usual)
    after, report, _ = update(usual, state, rollout, estimates)
    silent = agent_of("ascpo", trust_region=TrustRegion(signal_every=0))
    bare = replace(state, policy=replace(state.policy, signal=None))
    assert silent.init(0).policy.signal is None
    same, nothing, _ = update(silent, bare, rollout, estimates)
    assert_array_equal(after.policy.theta, same.policy.theta)
    assert np.isnan(nothing.signal).all()
    assert np.isfinite(report.signal).all()


@pytest.mark.parametrize("algorithm", ["trpo", "pascpo"])
def test_without_constraints_there_is_no_signal(algorithm):
    agent = agent_of(algorithm)
    state, rollout, estimates = an_epoch(agent)
    after, report, _ = update(agent, state, rollout, estimates)
    assert (after.policy.signal, report.signal.shape) == (None, (0,))


@slow("compiles its own update")
def test_a_single_environment_measures_no_signal():
    agent = agent_of("ascpo", Sizes(1, 2, 2, 2), num_envs=1, trust_region=EVERY_SECOND)
    state, rollout, estimates = an_epoch(agent)
    assert np.isnan(update(agent, state, rollout, estimates)[1].signal).all()


@slow("compiles its own update")
def test_feedback_uses_the_signal_of_earlier_epochs():
    """A signal of 0.1 on average, which is what half is asked for."""
    target = TargetSettings(half_signal=0.1)
    agent = agent_of(ASCPO(target=target), trust_region=EVERY_SECOND)
    state, rollout, estimates = an_epoch(agent, truncated=jnp.zeros((TIME, 3), bool))
    trend = no_signal(2).after(jnp.full(2, 0.1))
    _, asked, _ = update(agent, replace(state, policy=replace(state.policy, signal=trend)), rollout, estimates)
    _, trusted, _ = update(agent, state, rollout, estimates)
    # Before the first measurement the signal counts as 1.
    assert_allclose(asked.asked / trusted.asked, 0.5 / (1 / 1.1), rtol=1e-3)


def test_the_fisher_matrix_is_estimated_from_every_so_many_steps():
    agent = agent_of("trpo", trust_region=TrustRegion(fisher_stride=3))
    state, rollout, estimates = an_epoch(agent)
    problem = _problem(
        agent, state.policy, rollout.observation, rollout.action, estimates.evidence, Demand(jnp.zeros(0))
    )
    assert_allclose(
        problem.outputs(state.policy.theta).mean, agent.policy(state.policy.theta)(rollout.observation).mean[::3]
    )


def test_a_multiplier_rises_with_the_mean_cost_over_the_limit_of_learning():
    agent = agent_of("trpo-lagrangian", margin=0.05)
    state, rollout, estimates = an_epoch(agent)
    after, _, _ = update(agent, state, rollout, estimates)
    rate = agent.multiplier.rate
    ended = np.asarray(rollout.done).sum()
    longest = max(length_of_longest(np.asarray(rollout.done)), 1)
    episodes = max(ended, TIME * 3 / longest)
    over = np.asarray(rollout.cost).sum(axis=(0, 1)) / episodes - (np.array(agent.limits) - 0.05)
    assert_allclose(after.policy.multiplier, np.maximum(rate * over, 0.0), rtol=1e-4)


@pytest.mark.parametrize(("waiver", "rises"), [(0.0, True), (1.0, False)])
def test_while_episodes_time_out_costs_are_waived_and_the_multiplier_stays(waiver, rises):
    agent = agent_of("trpo-lagrangian", timeout_waiver=waiver)
    ended = np.asarray(rollout_of(agent).done)
    state, rollout, estimates = an_epoch(agent, terminated=np.zeros_like(ended), truncated=ended)
    penalised = replace(state, policy=replace(state.policy, multiplier=jnp.ones(2)))
    at, evidence = away(state.policy.theta), estimates.evidence
    loss = problem_of(agent, penalised, rollout, estimates).evaluate(at).loss
    ratio = np.exp(log_prob(agent, at, rollout) - log_prob(agent, state.policy.theta, rollout))
    assert np.isclose(loss, reward_loss(evidence, Weights(jnp.asarray(ratio))), rtol=1e-4) == (not rises)
    after = _multiplier(agent, state.policy.multiplier, rollout.observation, evidence)
    assert np.all(np.asarray(after) > 0.0) == rises


@slow("compiles its own update")
def test_a_state_multiplier_rises_where_the_cost_that_followed_is_over_the_limit():
    """The same step as by hand: `ascend` on the cost that followed, less the limit."""
    agent = agent_of("trpo-fac", margin=0.05)
    state, rollout, estimates = an_epoch(agent)
    after, _, _ = update(agent, state, rollout, estimates)
    over = estimates.evidence.cost_to_go - (jnp.array(agent.limits) - 0.05)
    expected = agent.multiplier.ascend(state.policy.multiplier, rollout.observation, jnp.zeros(2), over)
    before = agent.multiplier.value(state.policy.multiplier, rollout.observation)
    raised = agent.multiplier.value(after.policy.multiplier, rollout.observation)
    assert_allclose(raised, agent.multiplier.value(expected, rollout.observation), rtol=1e-4)
    assert not np.allclose(raised, before, rtol=1e-6)


def length_of_longest(done):
    """Steps of the longest stretch without an end, ended or not."""
    longest = 0
    for ends in done.T:
        begun = -1
        for t in [*np.flatnonzero(ends), len(ends) - 1]:
            longest, begun = max(longest, t - begun), t
    return longest


def test_the_value_at_risk_follows_the_quantile_of_all_epochs_by_their_episodes():
    agent = agent_of("trpo-cvar")
    state, rollout, _ = an_epoch(agent)
    state = replace(state, policy=replace(state.policy, nu=jnp.array([1.0, 2.0])))
    estimates = estimate(agent, state, rollout)
    after, _, _ = update(agent, state, rollout, estimates)
    quantile = np.asarray(estimates.evidence.cost_tail.quantile)
    assert_allclose(after.policy.nu, quantile, rtol=1e-5)
    # As many episodes again, the earlier ones with a weight of 0.7: this epoch counts 1 / 1.7.
    later = replace(state, trend=estimates.evidence.trend)
    estimates = estimate(agent, later, rollout)
    after, _, _ = update(agent, later, rollout, estimates)
    quantile = np.asarray(estimates.evidence.cost_tail.quantile)
    assert_allclose(after.policy.nu, np.array([1.0, 2.0]) + (quantile - [1.0, 2.0]) / 1.7, rtol=1e-5)
