"""The row of an epoch, from numbers that are all different."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from ascpo.experience.cvar import CostTail
from ascpo.experience.episodes import LEVELS
from ascpo.training.estimate import estimate
from ascpo.training.metrics import COLUMNS, measure, row_of
from ascpo.training.state import CriticQuality, EpochMetrics
from ascpo.trust_region.step import StepReport
from tests.surrogates.helpers import statistics
from tests.training.made import NAMES, agent_of, rollout_of

MEASURED = EpochMetrics(
    episodes=statistics(
        finished=7,
        reward=1.5,
        cost=[2.0, 3.0],
        max_cost=[0.5, 0.4],
        max_cost_squared=[0.34, 0.10],
        length=30.0,
        violation_rates=[0.3, 0.1],
        violation_rate=0.35,
        timeout_rate=0.2,
        quantiles=np.arange(10.0).reshape(5, 2),
    ),
    step=StepReport(
        case=jnp.array(2),
        lam=jnp.array(4.0),
        nu=np.array([11.0, 12.0]),
        asked=np.array([13.0, 14.0]),
        predicted=np.array([15.0, 16.0]),
        actual=np.array([17.0, 18.0]),
        gain=jnp.array(0.6),
        divergence=jnp.array(0.019),
        exponent=jnp.array(3),
        accepted=jnp.array(True),
        residual=jnp.array(1e-3),
        signal=np.array([0.19, np.nan]),
    ),
    cap=jnp.array(0.9),
    losses={"value": jnp.array(0.11)},
    quality=CriticQuality(jnp.array(0.8), np.array([0.21, 0.22, 0.23, 0.24]), np.array([0.31, 0.32, 0.33, 0.34])),
    log_std=jnp.array(-0.7),
    total_cost=jnp.array(10.0),
    worst_cost=jnp.array(0.9),
    finite=jnp.array(True),
    extras={},
)


def test_a_row_has_the_measurements_under_the_names_of_the_columns():
    row = row_of(MEASURED, NAMES)
    expected = {
        "EpRet": 1.5,
        "EpCost": 5.0,
        "EpMaxCost": 0.5,
        "EpLen": 30.0,
        "Episodes": 7,
        "SafeRate": 0.65,
        "TimeoutRate": 0.2,
        "Case": 2,
        "AskShare": 0.9,
        "Lambda": 4.0,
        "KL": 0.019,
        "Gain": 0.6,
        "LineSearch": 3,
        "Accepted": 1,
        "CGResidual": 1e-3,
        "LogStd": -0.7,
        "LossV": 0.11,
        "LossC": np.nan,
        "EVReward": 0.8,
        "EpCost_left": 2.0,
        "EpCost_right": 3.0,
        "EpMaxCost_left": 0.5,
        "EpMaxCost_right": 0.4,
        "StdMaxCost_left": 0.3,
        "StdMaxCost_right": 0.0,
        **{f"EpMaxCost{level}_left": 2.0 * i for i, level in enumerate((50, 75, 90, 95, 99))},
        **{f"EpMaxCost{level}_right": 2.0 * i + 1 for i, level in enumerate((50, 75, 90, 95, 99))},
        "Nu_left": 11.0,
        "Nu_right": 12.0,
        "Asked_left": 13.0,
        "Asked_right": 14.0,
        "CostPredicted_left": 15.0,
        "CostPredicted_right": 16.0,
        "CostActual_left": 17.0,
        "CostActual_right": 18.0,
        "CostSignal_left": 0.19,
        "CostSignal_right": np.nan,
        "EVCost_left": 0.21,
        "EVCost_right": 0.22,
        "EVCost_left_square": 0.23,
        "EVCost_right_square": 0.24,
        "CriticBias_left": 0.31,
        "CriticBias_right": 0.32,
        "CriticBias_left_square": 0.33,
        "CriticBias_right_square": 0.34,
    }
    # A variance of 0.10 − 0.16 is rounding's: the largest costs were all the same.
    assert set(row) == set(expected)
    for column, value in expected.items():
        assert row[column] == pytest.approx(value, rel=1e-5, abs=1e-6, nan_ok=True), column


def test_a_single_constraint_needs_no_name():
    """Its name is that of no column."""
    quality = CriticQuality(jnp.array(0.8), np.array([0.21]), np.array([0.31]))
    of_one = {name: getattr(MEASURED.step, name)[:1] for name in ("nu", "asked", "predicted", "actual", "signal")}
    row = row_of(replace(MEASURED, step=replace(MEASURED.step, **of_one), quality=quality), ("cost",))
    assert set(row) <= set(COLUMNS)
    assert (row["Nu"], row["Asked"], row["EVCost"], row["CriticBias"]) == (11.0, 13.0, 0.21, 0.31)


def test_a_constraint_on_time_outs_has_its_own_columns():
    quality = CriticQuality(jnp.array(0.8), np.array([0.21, 0.22]), np.array([0.31, 0.32]))
    row = row_of(replace(MEASURED, quality=quality), ("cost",))
    assert (row["Nu_timeouts"], row["EVCost"], row["EVCost_timeouts"]) == (float(MEASURED.step.nu[1]), 0.21, 0.22)
    assert (row["Nu"], row["CriticBias_timeouts"]) == (11.0, 0.32)


def test_without_constraints_their_columns_are_nan():
    none = np.zeros(0)
    step = replace(MEASURED.step, nu=none, asked=none, predicted=none, actual=none, signal=none)
    row = row_of(replace(MEASURED, step=step, quality=CriticQuality(jnp.array(0.8), none, none)), NAMES)
    assert all(np.isnan(row[f"{column}_left"]) for column in ("Nu", "Asked", "CostSignal", "EVCost", "CriticBias"))


def test_the_quantile_levels_are_those_of_the_columns():
    assert LEVELS == (50, 75, 90, 95, 99)


def measured(agent, before=None):
    """An epoch after which the policy is what it was before: what it tells, and what that is made of."""
    before, rollout = before or agent.init(0), rollout_of(agent)
    estimates = estimate(agent, before, rollout)
    found = measure(agent, before, agent.init(0), rollout, estimates, MEASURED.step, MEASURED.cap, MEASURED.losses)
    return found, rollout, before, estimates


def test_costs_are_summed_over_all_steps_and_the_worst_is_the_largest():
    metrics, rollout, *_ = measured(agent_of("trpo"))
    assert_allclose(metrics.total_cost, np.sum(rollout.cost), rtol=1e-5)
    assert_allclose(metrics.worst_cost, np.max(rollout.cost))
    assert bool(metrics.finite)
    assert metrics.extras == {}


def test_the_logged_multiplier_is_the_one_that_the_step_used():
    """Of both constraints' multipliers before the epoch, the larger; after it they are zero here."""
    agent = agent_of("trpo-lagrangian")
    before = agent.init(0)
    before = replace(before, policy=replace(before.policy, multiplier=jnp.array([0.5, 0.25])))
    assert measured(agent, before)[0].extras["Multiplier"] == 0.5


def test_of_state_multipliers_the_largest_mean_is_logged():
    agent = agent_of("trpo-fac")
    metrics, rollout, before, *_ = measured(agent)
    lam = np.asarray(agent.multiplier.value(before.policy.multiplier, rollout.observation))
    assert_allclose(metrics.extras["Multiplier"], lam.mean(axis=(0, 1)).max(), rtol=1e-4)


def test_the_rate_and_the_shift_of_a_shield_are_logged():
    metrics, _, _, estimates = measured(agent_of("trpo-sl"))
    share, shift = estimates.interventions
    assert (metrics.extras["ShieldRate"], metrics.extras["ShieldShift"]) == (share, shift)
    assert share != shift


def test_of_several_cvars_the_largest_is_logged():
    metrics, _, _, estimates = measured(agent_of("trpo-cvar"))
    tail: CostTail = estimates.evidence.cost_tail
    assert_allclose(metrics.extras["CVaR"], np.max(np.asarray(tail.nu + tail.excess / (1 - 0.9))), rtol=1e-4)
    assert metrics.extras["VaR"] == 0.0
