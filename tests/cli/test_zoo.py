"""The commands of the zoo, and the zoo in other commands."""

import json

import pytest

from ascpo.evaluation.bound import rounded_down


def test_a_list_has_the_figures_of_every_policy(ascpo):
    printed = ascpo("zoo", "list")
    assert "…" not in printed, "no figure is cut off"
    assert max(map(len, printed.splitlines())) <= 80
    assert "Point-1-Hazard/ascpo" in printed
    assert "certified" in printed


def test_a_list_has_the_target_probability_of_a_policy_and_none_for_trpo(ascpo):
    asked = {line.split()[0]: line.split()[5] for line in ascpo("zoo", "list").splitlines() if " M " in f"{line} "}
    assert (asked["Point-8-Hazard/ascpo"], asked["Point-4-Ghost/scpo"]) == ("0.98", "0.999")
    assert asked["Point-4-Ghost/trpo"] == "–"


def test_one_policy_is_described_with_its_certificate_and_with_commands_to_use_it(ascpo):
    printed = ascpo("zoo", "show", "Point-1-Hazard")
    assert "CERTIFIED" in printed
    assert "ascpo replay zoo:Point-1-Hazard/ascpo" in printed


def test_a_bound_is_never_rounded_up():
    assert rounded_down(0.98479) == "0.9847"


def test_an_evaluation_writes_into_a_copy_of_the_run(ascpo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ascpo("evaluate", "zoo:Point-1-Hazard", "--episodes", "4")
    evaluation = json.loads((tmp_path / "runs/zoo/Point-1-Hazard-ascpo/evaluation.json").read_text())
    assert evaluation["sampled"]["Episodes"] == 4


def test_an_unknown_name_is_refused_before_anything_is_written(ascpo, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        ascpo("replay", "zoo:Car-1-Hazard")
    assert "The zoo has no Car-1-Hazard/ascpo." in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
