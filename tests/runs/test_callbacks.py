"""Callbacks: early stopping, keeping the best policy, and your own."""

import math

import numpy as np
import pytest

import ascpo
from ascpo.callbacks import Callback, EarlyStopping, EpochRecord, SaveBest, StopWhen, TrainingPlan
from ascpo.evaluation.evaluate import evaluate_run
from ascpo.runs.config import configure
from ascpo.runs.serialization import BadSetting
from ascpo.runs.stopping import Stopped
from ascpo.runs.trained_policy import read_policy
from tests.runs.helpers import CART, EPOCH, TINY
from tests.runs.test_run import QUIET, Signal, files, train
from tests.slow import slow


class Notes(Callback):
    """Only one of the three methods is written: the others do nothing."""

    def __init__(self):
        self.epochs = []

    def on_epoch_end(self, epochs):
        self.epochs.append([epoch.metrics["Epoch"] for epoch in epochs])


def plan_of(*directories):
    return TrainingPlan(configure(CART, **TINY), directories[0], 0, "", {}, other_runs=directories[1:])


def told(callback, values, directory, metric="EpRet"):
    """The epochs, counted from 1, after which it lets the training continue."""
    callback.on_training_start(plan_of(directory))
    answers = [callback.on_epoch_end([EpochRecord(directory, {metric: value}, {})]) for value in values]
    return [epoch + 1 for epoch, answer in enumerate(answers) if answer]


def test_patience_counts_the_epochs_without_an_improvement(tmp_path):
    # The best is in epoch 2: two epochs later patience ends.
    assert told(EarlyStopping(patience=2), [1.0, 3.0, 2.0, 3.0, 9.0], tmp_path) == [1, 2, 3, 5]
    assert told(EarlyStopping(patience=2, mode="min"), [3.0, 1.0, 2.0, 2.0], tmp_path) == [1, 2, 3]
    assert told(EarlyStopping(patience=2, min_delta=1.0), [1.0, 2.0, 1.9, 3.5], tmp_path) == [1, 2, 4]
    assert told(EarlyStopping(patience=2), [1.0, math.nan, math.nan], tmp_path) == [1, 2]


def test_an_unknown_metric_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(BadSetting, match=r"no column 'Return' in metrics\.csv\. It has: EpRet"):
        told(EarlyStopping("Return"), [1.0], tmp_path)
    with pytest.raises(BadSetting, match="at least one epoch"):
        EarlyStopping(patience=0)


def test_runs_that_train_at_the_same_time_stop_together(tmp_path):
    stop = StopWhen(lambda row: row["EpRet"] > 1.0)
    one, other = tmp_path / "one", tmp_path / "other"
    assert stop.on_training_start(plan_of(one, other))
    assert stop.on_epoch_end([EpochRecord(one, {"EpRet": 2.0}, {}), EpochRecord(other, {"EpRet": 0.0}, {})])
    assert not stop.on_epoch_end([EpochRecord(one, {"EpRet": 0.0}, {}), EpochRecord(other, {"EpRet": 2.0}, {})])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of four epochs with callbacks, which was not stopped."""
    notes, best = Notes(), SaveBest("EpRet")
    result = train(CART, tmp_path_factory.mktemp("whole"), callbacks=[notes, best])
    return result, notes


def test_your_own_callback_is_called_in_every_epoch(whole):
    assert whole[1].epochs == [[0], [1], [2], [3]]


@slow("trains")
def test_callbacks_change_no_number(whole, tmp_path):
    result, _ = whole
    assert files(train(CART, tmp_path).directory) == files(result.directory)


def test_a_callback_stops_the_training_and_the_rest_can_be_trained(whole, tmp_path):
    stopped = train(CART, tmp_path, callbacks=[StopWhen(lambda row: row["Epoch"] == 1)])
    assert (stopped.epochs, stopped.stopped_early) == (2, True)
    assert read_policy(stopped.directory).epochs == 2, "its final policy is saved"
    # The same callback still says no; without it the run continues as if it had never been stopped.
    again = ascpo.resume(stopped.directory, progress=False, callbacks=[StopWhen(lambda row: row["Epoch"] == 1)])
    assert again.epochs == 2
    assert files(ascpo.resume(stopped.directory, progress=False).directory) == files(whole[0].directory)


def test_a_run_that_was_killed_keeps_its_patience_and_its_best_policy(whole, tmp_path):
    result, _ = whole
    with pytest.raises(Stopped):
        train(CART, tmp_path, callbacks=[SaveBest("EpRet"), Signal(3)])
    (run,) = tmp_path.iterdir()
    ascpo.resume(run, progress=False, callbacks=[SaveBest("EpRet")])
    best = "policy-best.safetensors"
    assert (run / best).read_bytes() == (result.directory / best).read_bytes()
    assert read_policy(run / best).epochs == 1 + int(np.argmax(result.metrics["EpRet"]))
    assert ascpo.load(run / best).act(np.zeros(2, np.float32)).shape == (1,)
    with pytest.raises(BadSetting, match="not the run's final policy"):
        evaluate_run(run / best, 1)


@slow("trains")
def test_patience_continues_counting_after_a_resumption(tmp_path):
    """A metric that never improves after the first epoch: patience of three epochs ends with the fourth."""
    falling = {"metric": lambda row: -row["Epoch"], "patience": 3}
    options = QUIET | {"total_steps": 8 * EPOCH}
    with pytest.raises(Stopped):
        ascpo.train(CART, out=tmp_path, callbacks=[EarlyStopping(**falling), Signal(2)], **options)
    (run,) = tmp_path.iterdir()
    assert ascpo.resume(run, progress=False, callbacks=[EarlyStopping(**falling)]).epochs == 4


def test_without_a_metric_the_best_policy_keeps_the_limits_first(tmp_path):
    saved = []

    class Record(EpochRecord):
        def save_policy(self, path):
            saved.append(self.metrics["Epoch"])

    best = SaveBest()
    best.on_training_start(plan_of(tmp_path))
    # The target is 98 %: more than that is worth nothing by itself.
    for epoch, (safe, reward) in enumerate([(0.9, 5.0), (0.95, 1.0), (0.98, 1.0), (1.0, 0.5), (0.99, 2.0)]):
        best.on_epoch_end([Record(tmp_path, {"Epoch": epoch, "SafeRate": safe, "EpRet": reward}, {})])
    assert saved == [0, 1, 2, 4]


@slow("trains")
def test_the_training_reports_that_a_callback_stopped_it(tmp_path, capsys):
    settings = QUIET | {"progress": True, "total_steps": 4 * EPOCH}
    result = ascpo.train(CART, out=tmp_path, callbacks=[StopWhen(lambda row: True)], **settings)
    assert f"ascpo train --resume {result.directory}" in capsys.readouterr().out
