"""Descriptions of how the algorithm of a run treats costs."""

import json

import pytest

from ascpo.algorithms import ALGORITHMS
from ascpo.runs import description
from ascpo.runs.config import configure
from ascpo.runs.description import Description, describe
from ascpo.runs.directory import create
from ascpo.runs.serialization import BadSetting


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_algorithm_describes_what_it_does_about_costs(name):
    found = describe(configure("Point-1-Hazard", name))
    assert found.algorithm == name
    assert found.description
    assert bool(found.quantity) == (found.mechanism != "none")
    assert bool(found.target) == (found.mechanism == "constraint")
    assert bool(found.iterations) == (found.step == "clipped")


def test_mechanisms_and_steps_are_those_of_the_algorithms_parts():
    found = {name: describe(configure("Point-1-Hazard", name)) for name in ALGORITHMS}
    assert [name for name, one in found.items() if one.mechanism == "constraint"] == [
        "cpo", "pcpo", "scpo", "cpo-cvar", "ascpo"
    ]  # fmt: skip
    assert [name for name, one in found.items() if one.mechanism == "shield"] == ["trpo-sl", "trpo-usl"]
    assert [name for name, one in found.items() if one.mechanism == "none"] == ["trpo"]
    assert [name for name, one in found.items() if one.step == "projected"] == ["pcpo"]
    assert [name for name, one in found.items() if one.step == "clipped"] == ["pascpo", "ppo-lagrangian"]


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        ("feedback", "feedback from the measured episodes"),
        ("capped", "the bound, capped at a share of the trust region"),
        ("own", "the bound itself"),
    ],
)
def test_a_description_says_which_target_the_constraints_have(kind, target):
    assert describe(configure("Point-1-Hazard", "cpo", target={"kind": kind})).target == target


def test_algorithms_without_constraint_have_no_target():
    assert describe(configure("Point-1-Hazard", "trpo-lagrangian")).target == ""


def test_every_mode_of_ascpo_names_the_quantity_that_it_bounds():
    modes = ("reference", "paper", "moment", "cantelli", "chance")
    found = [describe(configure("Point-1-Hazard", mode=mode, probability=0.8)).quantity for mode in modes]
    assert found[0] == "the mean of an episode's largest cost, and a trace of its variance"
    assert found[1] == found[2] == "mean + 7 · mean square of an episode's largest cost"
    assert found[3] == "what an episode's largest cost stays under with probability 0.8"
    assert found[4] == "the probability that an episode violates a limit"


def test_a_new_run_has_a_description_that_is_read_back(tmp_path):
    config = configure("Point-1-Hazard", "pascpo")
    directory = create(tmp_path, config)
    assert description.read(directory.path) == describe(config)


def test_an_older_run_is_described_by_its_settings(tmp_path):
    config = configure("Point-1-Hazard", "pcpo")
    directory = create(tmp_path, config)
    (directory.path / description.FILE).unlink()
    assert description.read(directory.path) == describe(config)


def test_the_description_file_precedes_the_settings(tmp_path):
    """An algorithm that this program does not know describes itself."""
    own = Description("mine", "hopes for the best", "penalty", "hope", "", "clipped", 3)
    description.write(tmp_path, own)
    assert description.read(tmp_path) == own


@pytest.mark.parametrize("change", [{"mechanism": "hope"}, {"step": "sideways"}, {"extra": 1}])
def test_a_file_that_describes_no_run_says_what_to_do(tmp_path, change):
    file = create(tmp_path, configure("Point-1-Hazard")).path / description.FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(BadSetting, match="Delete it"):
        description.read(file.parent)
