"""A short real training from the command line."""

import csv
import json

import numpy as np
import pytest

from ascpo.cli import main
from ascpo.cli.train import Train

SMALL = {
    "--env": "Point-1-Hazard",
    "--total-steps": 1200,
    "--settings.num-envs": 4,
    "--settings.horizon": 150,
    "--settings.value-fit.iterations": 4,
    "--settings.value-fit.batch-size": 64,
    "--evaluate": 3,
}


def ascpo(monkeypatch, *words):
    monkeypatch.setattr("sys.argv", ["ascpo", *words])
    main.main()


def train(monkeypatch, out, **settings):
    chosen = SMALL | {"--out": out} | {f"--{name}": value for name, value in settings.items()}
    ascpo(monkeypatch, "train", *(str(word) for pair in chosen.items() for word in pair))


def test_a_training_leaves_its_log_its_settings_its_policy_and_an_evaluation(tmp_path, monkeypatch, capsys):
    train(monkeypatch, tmp_path, algo="ascpo")
    (directory,) = tmp_path.iterdir()
    with (directory / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["TotalEnvInteracts"]) for row in rows] == [600, 1200]
    assert {"EpRet", "EpCost", "EpMaxCost", "EpLen", "CostRate", "Case", "KL", "EVCost"} <= set(rows[0])
    assert json.loads((directory / "config.json").read_text())["algo"] == "ascpo"
    assert np.isfinite(np.load(directory / "policy.npz")["theta"]).all()
    assert json.loads((directory / "evaluation.json").read_text())["sampled"]["Episodes"] == 3
    out = capsys.readouterr().out
    assert "Limits: hazard ≤ 0" in out
    assert "2/2" in out


def test_a_second_run_does_not_overwrite_the_first(tmp_path, monkeypatch):
    train(monkeypatch, tmp_path, algo="trpo", evaluate=0)
    with pytest.raises(SystemExit, match="holds a run already"):
        train(monkeypatch, tmp_path, algo="trpo", evaluate=0)


def test_a_mistyped_suite_is_answered_with_the_nearest_one(tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="Point-8-Hazard"):
        train(monkeypatch, tmp_path, env="Point8Hazard")


@pytest.mark.parametrize("wrong", [{"total_steps": 0}, {"total_steps": float("nan")}, {"evaluate": -1}])
def test_a_training_of_nothing_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Train(**wrong)


def test_an_unknown_verb_is_answered_with_the_known_one(monkeypatch):
    with pytest.raises(SystemExit, match="ascpo train"):
        ascpo(monkeypatch, "trian")


def test_the_probability_goes_where_it_is_used():
    wanted = Train(probability=0.9).resolved()
    assert wanted.settings.ask.probability == 0.9
    assert wanted.ascpo.probability == 0.9
    assert Train().resolved() == Train()


def test_a_probability_that_is_none_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        Train(probability=98.0).resolved()
