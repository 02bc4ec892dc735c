"""`ascpo train --show` and `--preset`."""

import re

import pytest

from ascpo.algorithms import ALGORITHMS
from ascpo.algorithms.presets import SOURCES
from ascpo.algorithms.suite_defaults import ROBOT_DEFAULTS, SUITE_DEFAULTS
from ascpo.cli.train import parse
from ascpo.runs.config import configure
from ascpo.runs.directory import create


def rows(printed):
    """Name of the setting → the other cells of its row."""
    cells = [re.split(r"\s{2,}", line.strip()) for line in printed.splitlines()]
    return {name: rest for name, *rest in cells if rest}


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_a_preset_is_shown_with_its_changes_and_their_reasons(ascpo, algo, tmp_path):
    found = rows(ascpo("train", "--algo", algo, "--preset", "released", "--show", "--out", tmp_path))
    assert found.pop("setting") == ["ours", "released", "why"]
    preset, ours = SOURCES["released"][algo], SUITE_DEFAULTS.get(algo, {}) | ROBOT_DEFAULTS["Point"]
    assert found.keys() == preset.keys() | ours.keys()
    assert {name: cells[2] for name, cells in found.items()} == {
        name: preset[name].reason if name in preset else "Only our defaults for suites have this value."
        for name in found
    }
    assert found["value_fit.batch_size"][:2] == ["4096", "0"]
    assert list(tmp_path.iterdir()) == [], "nothing is trained"


def test_given_settings_are_shown_beside_those_of_the_preset(ascpo):
    words = ("--preset", "published", "--show", "--trust-region.delta", 0.01, "--cost-fit.window", 2)
    printed = ascpo("train", "--algo", "ascpo", *words)
    found = rows(printed)
    assert found["trust_region.delta"] == ["0.02", "0.01", "You gave it."]
    assert found["cost_fit.window"] == ["10", "2", "You gave it instead of the preset's 1."]
    assert found["mode"][:2] == ["chernoff", "paper"]
    assert "Note: trust_region.delta=0.01 was given and replaces the preset's 0.02." in printed


def test_without_a_preset_all_settings_in_force_are_shown(ascpo):
    found = rows(ascpo("train", "--algo", "cpo", "--show", "--discount", 0.9))
    assert found["discount"] == ["0.9", "0.99"]
    assert found["target.kind"] == ["feedback", "the same"]
    assert found["hidden"] == ["64 64", "the same"]


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_the_command_line_and_python_mean_the_same_preset(algo):
    asked, _ = parse(["--env", "Point-1-Hazard", "--algo", algo, "--preset", "published"])
    assert asked.as_configs() == [configure("Point-1-Hazard", algo, preset="published")]


def test_a_config_keeps_its_preset_and_takes_no_other(ascpo, tmp_path):
    run = create(tmp_path, configure("Point-1-Hazard", "cpo", preset="released")).path
    assert run.name == "Point-1-Hazard-cpo-released-seed0"
    assert parse(["--config", str(run)])[0].as_configs()[0].preset == "released"
    assert parse(["--config", str(run), "--algo", "trpo"])[0].as_configs()[0].preset is None
    with pytest.raises(SystemExit, match="--preset and --config"):
        ascpo("train", "--config", run, "--preset", "published")
    with pytest.raises(SystemExit, match="preset is released in this run, and you asked for published"):
        ascpo("train", "--resume", run, "--preset", "published")


def test_a_mistyped_preset_gets_the_nearest_one_suggested(ascpo):
    with pytest.raises(SystemExit, match="Did you mean published"):
        ascpo("train", "--preset", "publisehd", "--show")


def test_the_list_of_algorithms_mentions_presets(ascpo):
    assert "our defaults and two presets" in ascpo("list")
    assert "presets" not in ascpo("list", "suites")
