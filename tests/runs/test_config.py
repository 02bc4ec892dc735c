import dataclasses
import json

import pytest

from ascpo.algorithms import ALGORITHMS, ASCPO, CPO
from ascpo.cli.train import Train
from ascpo.errors import InertSetting
from ascpo.runs.api import Options
from ascpo.runs.config import Config, configure, configure_each
from ascpo.runs.serialization import BadSetting
from ascpo.surrogates.settings import TargetSettings
from ascpo.training.settings import Settings
from ascpo.trust_region.settings import TrustRegion


def test_shared_settings_and_those_of_the_algorithm_are_given_together():
    config = configure("Point-1-Hazard", "ascpo", total_steps=6e6, discount=0.9, mode="paper", target={"share": 0.9})
    assert config.settings.discount == 0.9
    assert config.method == ASCPO(
        mode="paper", target=TargetSettings(share=0.9, timeout_limit=0.01, timeout_relief=0.7)
    )
    assert config.total_steps == 6_000_000
    assert config.epochs == 200


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_a_config_is_the_same_after_writing_and_reading(algo):
    config = configure("Point-1-Hazard", algo, seed=3, limits=(0.0, 0.5), discount=0.9)
    assert Config.from_plain(json.loads(json.dumps(config.plain()))) == config


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_no_setting_has_the_name_of_another(algo):
    """They share one line of flags, and one list of keyword arguments."""
    groups = (Train, Options, Settings, ALGORITHMS[algo])
    names = [field.name for group in groups for field in dataclasses.fields(group)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"algo": "asppo"}, "'asppo' is not an algorithm. Did you mean ascpo"),
        ({"marign": 0.1}, "no setting 'marign'. Did you mean margin"),
        ({"algo": "cpo", "mode": "paper"}, "cpo has no setting 'mode'. ascpo and pascpo have it"),
        ({"algo": "cpo", "cost_limit": 25.0}, "cpo has no setting 'cost_limit'. Here it is limits."),
        ({"clip_range": 0.2}, "Here it is ppo.clip, for pascpo and ppo-lagrangian."),
        ({"total_steps": 0}, "total_steps=0 must be a whole number from 1"),
        ({"total_steps": 1.5}, "whole number"),
        ({"total_steps": float("nan")}, "whole number"),
        ({"seed": -1}, "must be a whole number from 0 to"),
        ({"probability": 98}, "above 0 and below 1"),
        ({"num_envs": 0}, "from 1 to"),
        ({"hidden": []}, "from 1 to"),
    ],
)
def test_impossible_configs_are_refused_with_a_message(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        configure("Point-1-Hazard", **wrong)


@pytest.mark.parametrize("region", [{"delta": 0.01, "signal_every": 0}, TrustRegion(delta=0.01, signal_every=0)])
def test_each_of_several_algorithms_takes_the_settings_that_affect_it(region):
    algos = ["trpo", "ascpo", "ppo-lagrangian"]
    found = configure_each("a", algos, [0], {"trust_region": region, "near_miss": 0.3, "near_miss_end": 0.1})
    assert [config.settings.trust_region.delta for config in found] == [0.01] * 3
    assert [config.settings.trust_region.signal_every for config in found] == [10, 0, 10]
    assert [config.settings.near_miss_end for config in found] == [0.03, 0.1, 0.1]


def test_a_setting_that_affects_none_of_several_algorithms_is_named():
    chosen = {"cost_fit": {"window": 3}, "trust_region": {"delta": 0.01, "signal_every": 0}}
    with pytest.raises(InertSetting, match=r"trust_region\.signal_every=0 changes nothing: it is for constraints"):
        configure_each("a", ["trpo", "trpo-lagrangian"], [0], chosen)


def test_the_fingerprint_tells_runs_apart_but_not_their_lengths():
    config = configure("Point-1-Hazard")
    assert configure("Point-1-Hazard", total_steps=1e6).fingerprint == config.fingerprint
    for other in ({"seed": 1}, {"discount": 0.9}, {"mode": "paper"}, {"algo": "cpo"}):
        assert configure("Point-1-Hazard", **other).fingerprint != config.fingerprint


def test_the_name_has_the_environment_algorithm_unusual_mode_and_seed():
    assert configure("Point-1-Hazard", seed=2).name() == "Point-1-Hazard-ascpo-seed2"
    assert configure("Point-1-Hazard", mode="paper").name() == "Point-1-Hazard-ascpo-paper-seed0"
    assert configure("package.module:make", "cpo").name() == "package.module-make-cpo-seed0"
    assert configure("../../etc:x", "cpo").name() == "..-..-etc-x-cpo-seed0"
    assert configure("a", preset="released").name() == "a-ascpo-released-seed0"
    assert configure("a", preset="released", mode="paper").name() == "a-ascpo-released-paper-seed0"


def test_equal_settings_build_equal_algorithms():
    """What is compiled for one training serves the next."""
    assert configure("a").algorithm() == configure("b").algorithm()
    assert configure("a").algorithm() != configure("a", probability=0.9).algorithm()


def test_the_method_decides_the_algorithm():
    assert Config("a").algo == "ascpo"
    assert Config("a", method=CPO()).algo == "cpo"
    assert Config("a", method=CPO()).plain()["algo"] == "cpo"
    with pytest.raises(TypeError):
        Config("a", algo="cpo")


def test_a_method_that_is_not_an_algorithm_is_refused():
    with pytest.raises(BadSetting, match="belongs to no algorithm"):
        Config("a", method=Settings())


def test_a_config_of_an_unknown_algorithm_is_refused():
    plain = configure("a", "cpo").plain() | {"algo": "cpp"}
    with pytest.raises(BadSetting, match="Did you mean cpo"):
        Config.from_plain(plain)


def test_the_probability_reaches_the_algorithm():
    assert "0.1" in configure("a", probability=0.9).algorithm().description
    assert configure("a", "cpo").method == CPO()
