"""Settings as typed on the command line."""

import pytest

from ascpo.runs.config import configure
from ascpo.runs.serialization import BadSetting, differences
from ascpo.sweep.overrides import nested, read_overrides


def test_values_are_numbers_lists_or_words():
    typed = ["horizon=50", "hidden=8,8", "carry=False", "ascpo.mode=paper", "margin=1e-2", "cost_gae_lambda=None"]
    assert read_overrides(typed) == {
        "horizon": 50,
        "hidden": (8, 8),
        "carry": False,
        "ascpo.mode": "paper",
        "margin": 0.01,
        "cost_gae_lambda": None,
    }


def test_dashes_may_be_typed_as_on_the_command_line():
    assert read_overrides(["num-envs=4", "cost-fit.batch-size=8"]) == {"num_envs": 4, "cost_fit.batch_size": 8}
    assert read_overrides(["trpo-lagrangian.strength=1"]) == {"trpo-lagrangian.strength": 1}


@pytest.mark.parametrize("word", ["horizon", "=50", "horizon=", ""])
def test_a_malformed_override_is_refused_with_an_example(word):
    with pytest.raises(BadSetting, match="name=value"):
        read_overrides([word])


def test_groups_become_dictionaries_and_an_algorithms_own_settings_stay_with_it():
    overrides = {
        "horizon": 50,
        "cost_fit.window": 3,
        "cost_fit.iterations": 2,
        "ascpo.mode": "paper",
        "ascpo.target.share": 1,
    }
    shared = {"horizon": 50, "cost_fit": {"window": 3, "iterations": 2}}
    assert nested(overrides, "trpo") == shared
    assert nested(overrides, "ascpo") == {**shared, "mode": "paper", "target": {"share": 1}}


def test_differences_are_named_as_they_are_typed():
    overrides = read_overrides(["horizon=50", "cost_fit.window=3"])
    usual, other = configure("Point-1-Hazard"), configure("Point-1-Hazard", **nested(overrides, "ascpo"))
    assert differences(usual, other) == {"horizon": (1000, 50), "cost_fit.window": (10, 3)}
