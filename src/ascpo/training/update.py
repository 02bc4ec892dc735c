"""The update: one step of the policy, of the multiplier of a penalty, and of the value at risk."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ascpo.engines.contract import Rollout
from ascpo.engines.precision import precise
from ascpo.networks.normaliser import Normaliser
from ascpo.surrogates.evidence import Constraint, Evidence
from ascpo.surrogates.reward import reward_loss
from ascpo.surrogates.target import Demand, Measured
from ascpo.surrogates.timeouts import charged_share
from ascpo.surrogates.weights import Weights
from ascpo.training.agent import Agent
from ascpo.training.recent import remember
from ascpo.training.state import Estimates, LearnerState, PolicyState
from ascpo.trust_region.line_search import Evaluation
from ascpo.trust_region.signal import SignalTrend, SubBatch
from ascpo.trust_region.step import Problem, StepReport


def update(
    agent: Agent, state: LearnerState, rollout: Rollout, estimates: Estimates
) -> tuple[LearnerState, StepReport, Float[Array, ""]]:
    """The state after the step, a report of the step, and the share of the region that the constraints may take."""
    observed = state.normaliser, rollout.observation
    policy, report, cap = _update(agent, state.policy, *observed, rollout.action, estimates.evidence)
    recent = None if state.recent is None else remember(state.recent, policy.theta)
    return replace(state, policy=policy, recent=recent), report, cap


@partial(jax.jit, static_argnums=0)
@precise
def _update(
    agent: Agent,
    state: PolicyState,
    normaliser: Normaliser | None,
    observation: Float[Array, "time env obs"],
    action: Float[Array, "time env act"],
    evidence: Evidence,
) -> tuple[PolicyState, StepReport, Float[Array, ""]]:
    observation = agent.network_input(normaliser, observation)
    algorithm, region, limits = agent.algorithm, agent.settings.trust_region, agent.learning_limits
    demand, target = Demand(jnp.zeros(0)), None
    constraint = agent.constraint
    if constraint is not None and algorithm.target is not None:
        measured = _measured(constraint, evidence.of_last_epochs(), limits)
        measured = replace(measured, signal=None if state.signal is None else state.signal.share)
        demand, target = algorithm.target.demand(state.target, constraint.offset(evidence, limits), measured)
    problem = _problem(agent, state, observation, action, evidence, demand)
    theta, step, report = algorithm.step.take(problem, region, state.step)
    after = PolicyState(
        theta,
        step=step,
        target=target,
        multiplier=_multiplier(agent, state.multiplier, observation, evidence),
        nu=_value_at_risk(state.nu, evidence),
        signal=None if state.signal is None else state.signal.after(jnp.asarray(report.signal)),
    )
    return after, report, jnp.asarray(jnp.nan if demand.cap is None else demand.cap)


def _measured(constraint: Constraint, evidence: Evidence, limits: Float[Array, " m"]) -> Measured:
    episodes = evidence.episodes
    excess = constraint.relative_excess(evidence, limits)
    return Measured(excess, jnp.asarray(episodes.violation_rates), jnp.asarray(episodes.timeout_rate))


def _problem(
    agent: Agent,
    state: PolicyState,
    observation: Float[Array, "time env obs"],
    action: Float[Array, "time env act"],
    evidence: Evidence,
    demand: Demand,
) -> Problem:
    algorithm, constraint, clip = agent.algorithm, agent.constraint, agent.algorithm.clip
    step_weights = evidence.step_weights
    of_rewards, of_costs = (step_weights.reward, step_weights.cost) if step_weights else (None, None)
    old = agent.policy(state.theta)(observation)
    old_log_prob = old.log_prob(action)
    lam = None if agent.multiplier is None else agent.multiplier.value(state.multiplier, observation)
    of_fisher = observation[:: agent.settings.trust_region.fisher_stride]
    charged = _charged_share(agent, evidence)

    def surrogates(ratio: Float[Array, "time env"]) -> tuple[Float[Array, ""], Float[Array, " m"]]:
        loss = reward_loss(evidence, Weights(ratio, clip.reward if clip else None, scale=of_rewards))
        weights = Weights(ratio, scale=of_costs)
        if clip:
            weights = replace(weights, clip=clip.cost, optimistic=clip.optimistic_costs)
        if algorithm.penalty:
            loss = algorithm.penalty.added_to(loss, evidence, weights, lam, agent.learning_limits, charged)
        return loss, constraint.surrogate(evidence, weights) if constraint else jnp.zeros(0)

    def evaluate(theta: Float[Array, " p"]) -> Evaluation:
        new = agent.policy(theta)(observation)
        ratio = jnp.exp(new.log_prob(action) - old_log_prob)
        return Evaluation(*surrogates(ratio), jnp.mean(old.divergence(new)))

    def constraints_of_half(theta: Float[Array, " p"]) -> Float[Array, " m"]:
        new = agent.policy(theta)(observation[:, ::2])
        ratio = jnp.exp(new.log_prob(action[:, ::2]) - old_log_prob[:, ::2])
        return surrogates(jnp.ones_like(old_log_prob).at[:, ::2].set(ratio))[1]

    return Problem(
        state.theta,
        evaluate,
        outputs=lambda theta: agent.policy(theta)(of_fisher),
        metric=lambda at, tangent: at.metric(tangent),
        offset=demand.offset,
        fraction=demand.fraction,
        cap=demand.cap,
        sub_batch=_half_batch(agent, state.signal, constraints_of_half),
    )


def _half_batch(
    agent: Agent, trend: SignalTrend | None, constraints: Callable[[Float[Array, " p"]], Float[Array, " m"]]
) -> SubBatch | None:
    """Every second environment, if the signal is measured. Its episodes differ from the others', so does its noise."""
    n = agent.sizes.num_envs
    if trend is None or n < 2:
        return None
    return SubBatch(constraints, (n + 1) // 2 / n, trend.due(agent.settings.trust_region.signal_every))


def _multiplier(
    agent: Agent, multiplier: PyTree, observation: Float[Array, "time env obs"], evidence: Evidence
) -> PyTree:
    """λ after the epoch."""
    penalty, limits = agent.algorithm.penalty, agent.learning_limits
    if penalty is None or penalty.multiplier is None:
        return multiplier
    # From the last epochs, since with short horizons only the quickest episodes finish within one epoch.
    violation = penalty.violation(evidence.of_last_epochs(), limits) if penalty.violation else jnp.zeros_like(limits)
    charged, cost_to_go = _charged_share(agent, evidence), evidence.cost_to_go
    if cost_to_go is not None:
        cost_to_go = cost_to_go - limits
        if evidence.step_weights is not None:
            cost_to_go = cost_to_go * evidence.step_weights.reward[..., None]
        cost_to_go = charged * cost_to_go
    return penalty.multiplier.ascend(multiplier, observation, charged * violation, cost_to_go)


def _charged_share(agent: Agent, evidence: Evidence) -> Float[Array, ""] | float:
    """The share of the penalty that is charged, after the waiver for time-outs."""
    waiver = agent.settings.timeout_waiver
    return charged_share(jnp.asarray(evidence.of_last_epochs().episodes.timeout_rate), waiver) if waiver else 1.0


def _value_at_risk(nu: Float[Array, " m"] | None, evidence: Evidence) -> Float[Array, " m"] | None:
    """ν after the epoch."""
    if nu is None or evidence.cost_tail is None or evidence.trend is None:
        return nu
    # Epochs are weighted by their numbers of episodes, so that the first one counts in full.
    weight = evidence.episodes.finished / jnp.maximum(evidence.trend.sums.ended, 1.0)
    return nu + weight * (evidence.cost_tail.quantile - nu)
