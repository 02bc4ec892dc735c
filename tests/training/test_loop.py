"""The loop's own arithmetic: what is counted, added up and timed."""

from dataclasses import replace

import numpy as np
import pytest

from ascpo.algorithms import TRPO
from ascpo.engines.functional import FunctionalEngine
from ascpo.training.agent import agent_for
from ascpo.training.loop import TrainingRun, _row, _Stopwatch, continue_training, start
from ascpo.training.settings import Settings
from tests.training.test_metrics import MEASURED
from tests.training.test_trouble import Trouble


def test_rates_are_costs_per_step_of_this_epoch_and_of_all():
    """Of epochs of 50 steps, the fourth: 10 were paid in it and 30 in all."""
    row = _row(3, MEASURED, 30.0, 50, ("left", "right"))
    assert (row["Epoch"], row["TotalEnvInteracts"]) == (3, 200)
    assert row["CostRate"] == pytest.approx(30.0 / 200)
    assert row["EpochCostRate"] == pytest.approx(10.0 / 50)
    assert row["WorstCost"] == pytest.approx(0.9)


def test_columns_of_some_algorithms_only_come_last():
    row = _row(0, replace(MEASURED, extras={"Multiplier": np.array(2.5)}), 1.0, 50, ("left", "right"))
    assert list(row)[-1] == "Multiplier"
    assert row["Multiplier"] == 2.5


@pytest.mark.parametrize("trouble", [{"finite": np.array(False)}])
def test_parameters_that_are_not_finite_stop_the_training(trouble):
    with pytest.raises(RuntimeError, match="Epoch 4 made numbers that are not finite"):
        _row(4, replace(MEASURED, **trouble), 1.0, 50, ("left", "right"))


def test_several_runs_share_the_time_of_their_joint_work():
    """Two runs: a rollout of 2 s, two laps of 1 s and 4 s under one name, so 3.5 s and 200 steps each."""
    times = iter([10.0, 12.0, 13.0, 17.0])
    watch = _Stopwatch(clock=lambda: next(times))
    watch.lap("TimeRollout")
    watch.lap("TimePolicy")
    watch.lap("TimePolicy")
    assert watch.laps == {"TimeRollout": 2.0, "TimePolicy": 5.0}
    row = watch.shared(6, 2, 200)
    assert row == {"Epoch": 6, "TimeRollout": 1.0, "TimePolicy": 2.5, "StepsPerSecond": pytest.approx(200 / 3.5)}


def test_a_run_begins_with_zero_total_cost_and_continues_from_its_state():
    engine = FunctionalEngine(Trouble(reward=0.5, cost=0.25), 2)
    agent = agent_for(engine, TRPO().build(0.98), Settings(num_envs=2, horizon=4, hidden=(4,)))
    run = [TrainingRun(agent, 0)]
    states = start(engine, run)
    assert (states[0].epochs, states[0].cost) == (0, 0.0)
    epochs = [epoch for (epoch,) in continue_training(engine, run, states, 2)]
    # Every step costs a quarter: two epochs of eight steps.
    assert [(epoch.epochs, epoch.state.cost) for epoch in epochs] == [(1, 2.0), (2, 4.0)]
    assert epochs[1].row["CostRate"] == 0.25
    ((third,),) = continue_training(engine, run, [epochs[1].state], 3)
    assert (third.epochs, third.state.cost, third.row["Epoch"]) == (3, 6.0, 2)
