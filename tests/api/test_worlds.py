"""A world of JAX functions is trained on, resumed, evaluated, certified and replayed like any other environment."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import ascpo
from ascpo.cli import check
from ascpo.engines.functional import FunctionalEngine
from ascpo.evaluation.certify import check as check_certificate
from ascpo.evaluation.evaluation_file import worst_file
from ascpo.evaluation.records import read_records
from ascpo.evaluation.retrace import retrace
from ascpo.replay.frames import NoFrames, render_episode
from tests import worlds
from tests.docs.test_docs import ROOT, blocks
from tests.runs.helpers import EPOCH, tiny
from tests.slow import slow

NAME = "tests.worlds:slope"
SMALL = tiny("ascpo") | {"progress": False, "final_policy": "last"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run that was trained without a stop."""
    return ascpo.train(worlds.slope, total_steps=3 * EPOCH, out=tmp_path_factory.mktemp("runs"), name="whole", **SMALL)


def test_a_world_trains_by_its_factory_and_the_config_keeps_its_name(run):
    assert json.loads((run.directory / "config.json").read_text())["env"] == NAME
    assert run.epochs == 3


def test_a_resumed_training_ends_with_the_same_metrics_and_policy_bit_for_bit(run, tmp_path):
    part = ascpo.train(NAME, total_steps=EPOCH, out=tmp_path, name="part", **SMALL)
    resumed = ascpo.resume(part.directory, env=NAME, total_steps=3 * EPOCH, progress=False)
    assert (resumed.directory / "metrics.csv").read_bytes() == (run.directory / "metrics.csv").read_bytes()
    assert_array_equal(resumed.policy._file.theta, run.policy._file.theta)


@slow("the test of a certificate and its repetition always runs")
def test_a_policy_of_a_world_is_evaluated_and_its_worst_episodes_repeat_bit_for_bit(run, unchecked_shapes):
    found = ascpo.evaluate(run.directory, env=worlds.slope, episodes=20)
    assert len(found.episodes["EpRet"]) == 20
    records = read_records(run.directory / worst_file("sampled"))
    for record in records[:2]:
        assert_array_equal(retrace(record, NAME).cost.max(axis=0), record.maximum)
    with pytest.raises(NoFrames, match="world of JAX functions, which renders no frames"):
        render_episode(records[0], NAME, print)


def test_a_policy_of_a_world_is_certified_and_the_certificate_can_be_repeated(run, unchecked_shapes):
    ascpo.certify(run.directory, env=NAME, episodes=12, probability=0.5)
    assert check_certificate(run.directory, env=NAME).certificate.plan.env == NAME


@slow("trains two runs")
def test_several_seeds_train_at_the_same_time_as_if_each_were_alone(run, tmp_path):
    first, _ = ascpo.train_many(worlds.slope, seeds=(0, 1), total_steps=3 * EPOCH, out=tmp_path, **SMALL)
    assert (first.directory / "metrics.csv").read_bytes() == (run.directory / "metrics.csv").read_bytes()


@slow("draws figures")
def test_a_report_is_written(run):
    assert ascpo.report(run).page.exists()


@slow("compiles a program for one more policy")
def test_a_policy_from_elsewhere_acts_in_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = ascpo.evaluate(lambda observation: np.zeros(1), env=worlds.slope, episodes=4)
    assert len(found.episodes["EpRet"]) == 4


def test_check_describes_a_world(capsys):
    check.main([NAME])
    said = capsys.readouterr().out
    assert "can be trained on" in said
    assert "-2 to 2" in said
    assert "beyond" in said


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"threads": 2}, "threads=2 has no effect on your own environments"),
        ({"processes": True}, "world of JAX functions, which runs as one program. Leave --processes out"),
        ({"engine": "mjx"}, "MJX simulates suites only"),
        ({"devices": 2}, "devices=2 is for --engine mjx"),
        ({"max_episode_steps": 12}, "ends its episodes after 12 steps itself"),
        ({"near_miss": 0.1}, "near_miss=0.1 changes nothing"),
    ],
)
def test_settings_without_effect_are_refused_before_anything_is_written(options, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        ascpo.train(NAME, total_steps=EPOCH, out=tmp_path / "runs", **SMALL | options)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (worlds.Half, "not a world of JAX functions yet: it has no action_size, cost_names, observe, step"),
        (worlds.Growing, "another kind of state"),
        (dict, "not a gymnasium.Env"),
    ],
)
def test_wrong_factories_are_refused_with_a_message(made, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        ascpo.train(made, total_steps=EPOCH, out=tmp_path / "runs", **SMALL)


@slow("another world is always trained on")
def test_the_world_of_the_documentation_can_be_trained_on(monkeypatch):
    (block,) = [one for one in blocks(ROOT / "docs" / "your-own-environment.md", "python") if "class Point" in one]
    trained = []
    monkeypatch.setattr(ascpo, "train", lambda env, **settings: trained.append(env), raising=False)
    exec(compile(block, "your-own-environment.md", "exec"), {"__name__": "point"})
    assert FunctionalEngine(trained[0](), 1).notes == ()


def test_a_world_itself_is_no_factory():
    with pytest.raises(ValueError, match="Give the class or function that makes it"):
        ascpo.train(worlds.Slope(), total_steps=EPOCH)
