"""Metrics: a row of numbers for each epoch, and the meaning of every column."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from ascpo.engines.contract import Rollout
from ascpo.engines.precision import precise
from ascpo.experience.cvar import CostTail
from ascpo.experience.episodes import LEVELS
from ascpo.experience.scene_replay import ReplayPool
from ascpo.training.agent import Agent
from ascpo.training.state import EpochMetrics, Estimates, LearnerState
from ascpo.trust_region.step import StepReport

Row = dict[str, float]

COLUMNS: dict[str, str] = {
    "Epoch": "counted from 0",
    "TotalEnvInteracts": "steps of all environments so far",
    "EpRet": "mean return of the episodes that finished in this epoch",
    "EpCost": "mean sum of an episode's costs, all constraints together",
    "EpMaxCost": "mean of an episode's largest cost, for the constraint with the largest mean",
    "EpLen": "mean number of steps of an episode",
    "Episodes": "number of finished episodes; if it is 0, the other columns are about the running ones",
    "SafeRate": "share of the episodes that kept every limit",
    "TimeoutRate": "share of the episodes that ran into the time limit",
    "Case": "case of the step: 0 infeasible, 1 recovering, 2 bounded, 3 free, 4 no cost gradient",
    "AskShare": "share of the trust region's radius that the constraints may take; NaN without such a cap",
    "Lambda": "multiplier of the trust region",
    "KL": "mean KL divergence of the accepted step",
    "Gain": "decrease of the loss, which is the reward's surrogate and the penalty of costs",
    "LineSearch": "number of times that the step was shortened; for PPO, the iterations that were left",
    "Accepted": "1 if a step was taken, 0 if the policy did not change",
    "CGResidual": "largest relative residual of the linear solves",
    "LogStd": "mean logarithm of the policy's standard deviations",
    "LossV": "last loss of the reward's critic",
    "LossC": "last loss of the cost critics",
    "EVReward": "explained variance of the reward's critic on new episodes",
    "StdMaxCost": "standard deviation of an episode's largest cost",
    **{f"EpMaxCost{level}": f"{level} % quantile of an episode's largest cost" for level in LEVELS},
    "Nu": "multiplier of the constraint",
    "Asked": "decrease of the constraint's surrogate that the step aimed at",
    "CostPredicted": "change of the constraint's surrogate that the linear model predicts for the step",
    "CostActual": "change of the constraint's surrogate on the same batch, after the line search",
    "CostSignal": "share of the predicted change that is not noise, from two halves of the batch; NaN if not measured",
    "EVCost": "explained variance of the cost critic on new episodes",
    "CriticBias": "mean overestimate of the cost critic, as a multiple of the truth; NaN if the truth is close to 0",
    "WorstCost": "largest cost of any state in this epoch, in finished and running episodes",
    "CostRate": "cost per step since the start",
    "EpochCostRate": "cost per step of this epoch",
    "Multiplier": "multiplier of the penalty in the objective; of several, the largest",
    "ShieldRate": "share of the actions that a shield changed",
    "ShieldShift": "mean distance by which a shield changed actions, in the policy's units",
    "VaR": "ν, the α-quantile of the episodes' costs; of several constraints, the largest",
    "CVaR": "mean cost of the episodes above `VaR`",
    "ReplayShare": "share of the steps in replayed scenes; columns about episodes, costs and critics leave them out",
    "ReplayViolations": "share of the last replays that violated a limit, or came near it with near misses",
    "ReplayScenes": "number of scenes to replay in the next epoch",
}
"""The columns of `metrics.csv`. With several constraints, each has its own columns, which end in its name. `_square` is
the critic of the squared maximum, and `_timeouts` the constraint of the time-outs and its critic."""

TIMES: dict[str, str] = {
    "Epoch": "counted from 0",
    "TimeRollout": "seconds for the rollout",
    "TimeEstimates": "seconds for values, advantages and episode statistics",
    "TimePolicy": "seconds for the update of the policy",
    "TimeCritics": "seconds for fitting the critics",
    "TimeOther": "seconds for this row and the metrics",
    "StepsPerSecond": "steps per second of this epoch",
    "TimeSaved": "seconds for the tables and the checkpoint after the previous epoch",
    "WallClock": "seconds since the run began, without the time between a stop and its resumption",
}
"""The columns of `timing.csv`."""


def measure(
    agent: Agent,
    before: LearnerState,
    after: LearnerState,
    rollout: Rollout,
    estimates: Estimates,
    step: StepReport,
    cap: Float[Array, ""],
    losses: dict[str, Float[Array, ""]],
) -> EpochMetrics:
    """The metrics of an epoch, from the states before and after it."""
    observation = estimates.value_batch.observation if agent.multiplier is not None else None
    summary, extras = _measure(
        agent,
        after.policy.theta,
        rollout.cost,
        before.policy.multiplier,
        observation,
        estimates.evidence.cost_tail,
        estimates.interventions,
        rollout.fresh,
        after.pool,
    )
    return EpochMetrics(
        episodes=estimates.episodes,
        step=step,
        cap=cap,
        losses=losses,
        quality=estimates.quality,
        extras=extras,
        **summary._asdict(),
    )


class _Summary(NamedTuple):
    """The fields of `EpochMetrics` that are computed from the policy's parameters and the costs of all steps."""

    log_std: Float[Array, ""]
    total_cost: Float[Array, ""]
    worst_cost: Float[Array, ""]
    finite: Bool[Array, ""]


@partial(jax.jit, static_argnums=0)
@precise
def _measure(
    agent: Agent,
    theta: Float[Array, " p"],
    cost: Float[Array, "time env m"],
    multiplier: PyTree,
    observation: Float[Array, "time env obs"] | None,
    tail: CostTail | None,
    interventions: Float[Array, "2"] | None,
    fresh: Bool[Array, "time env"] | None,
    pool: ReplayPool | None,
) -> tuple[_Summary, dict[str, Float[Array, ""]]]:
    total, worst = jnp.sum(cost), jnp.max(cost)
    if fresh is not None:
        # As if all steps had been in fresh scenes.
        total = jnp.sum(jnp.where(fresh[..., None], cost, 0.0)) / jnp.maximum(jnp.mean(fresh), 1e-6)
        worst = jnp.max(jnp.where(fresh[..., None], cost, -jnp.inf))
    summary = _Summary(jnp.mean(agent.policy(theta).log_std), total, worst, jnp.all(jnp.isfinite(theta)))
    extras: dict[str, Float[Array, ""]] = {}
    if agent.multiplier is not None and observation is not None:
        lam = agent.multiplier.value(multiplier, observation)
        extras["Multiplier"] = jnp.max(jnp.mean(lam.reshape(-1, agent.sizes.m), axis=0))
    if interventions is not None:
        extras |= {"ShieldRate": interventions[0], "ShieldShift": interventions[1]}
    if agent.algorithm.cvar and tail is not None:
        extras |= {"VaR": jnp.max(tail.nu), "CVaR": jnp.max(tail.cvar(agent.algorithm.cvar.alpha))}
    if pool is not None and fresh is not None:
        extras |= {
            "ReplayShare": jnp.mean(~fresh),
            "ReplayViolations": pool.again.violated / pool.again.ended,
            "ReplayScenes": jnp.sum(pool.live, dtype=jnp.float32),
        }
    return summary, extras


def row_of(metrics: EpochMetrics, names: tuple[str, ...]) -> Row:
    """The metrics by column. The columns of a constraint end in its name if there are several."""
    episodes, step = metrics.episodes, metrics.step
    row: Row = {
        "EpRet": float(episodes.reward),
        "EpCost": float(np.sum(episodes.cost)),
        "EpMaxCost": float(np.max(episodes.max_cost)),
        "EpLen": float(episodes.length),
        "Episodes": int(episodes.finished),
        "SafeRate": 1.0 - float(episodes.violation_rate),
        "TimeoutRate": float(episodes.timeout_rate),
        "Case": int(step.case),
        "AskShare": float(metrics.cap),
        "Lambda": float(step.lam),
        "KL": float(step.divergence),
        "Gain": float(step.gain),
        "LineSearch": int(step.exponent),
        "Accepted": int(step.accepted),
        "CGResidual": float(step.residual),
        "LogStd": float(metrics.log_std),
        "LossV": float(metrics.losses["value"]),
        "LossC": float(metrics.losses.get("cost", np.nan)),
        "EVReward": float(metrics.quality.value),
    }
    for i, name in enumerate(names):
        row |= _of_constraint(metrics, i, f"_{name}" if len(names) > 1 else "")
    timeouts = len(step.nu) > len(names)
    of_costs = len(metrics.quality.cost) - timeouts
    for i in range(max(of_costs, len(names))):
        row |= _of_critic(metrics, i, _critic_suffix(i, names))
    if timeouts:
        row |= _of_step(step, -1, "_timeouts") | _of_critic(metrics, of_costs, "_timeouts")
    return row


def _of_constraint(metrics: EpochMetrics, i: int, suffix: str) -> Row:
    episodes, step = metrics.episodes, metrics.step
    row: Row = {}
    if suffix:
        row |= {f"EpCost{suffix}": float(episodes.cost[i]), f"EpMaxCost{suffix}": float(episodes.max_cost[i])}
    variance = episodes.max_cost_squared[i] - episodes.max_cost[i] ** 2
    return row | {
        f"StdMaxCost{suffix}": float(np.sqrt(max(variance, 0.0))),
        **{f"EpMaxCost{level}{suffix}": float(q) for level, q in zip(LEVELS, episodes.quantiles[:, i], strict=True)},
        **_of_step(step, i, suffix),
    }


def _of_step(step: StepReport, i: int, suffix: str) -> Row:
    columns = {
        "Nu": step.nu,
        "Asked": step.asked,
        "CostPredicted": step.predicted,
        "CostActual": step.actual,
        "CostSignal": step.signal,
    }
    return {f"{column}{suffix}": float(x[i]) if len(x) else np.nan for column, x in columns.items()}


def _critic_suffix(i: int, names: tuple[str, ...]) -> str:
    return (f"_{names[i % len(names)]}" if len(names) > 1 else "") + ("_square" if i >= len(names) else "")


def _of_critic(metrics: EpochMetrics, i: int, suffix: str) -> Row:
    columns = {"EVCost": metrics.quality.cost, "CriticBias": metrics.quality.cost_bias}
    return {f"{column}{suffix}": float(x[i]) if i < len(x) else np.nan for column, x in columns.items()}
