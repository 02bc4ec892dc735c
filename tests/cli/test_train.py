"""A short real training from the command line."""

import csv
import json

import numpy as np
import pytest

from ascpo.cli import main

SMALL = (
    "train --env Point-1-Hazard --total-steps 1200 --settings.num-envs 4 --settings.horizon 150 --evaluate 3 "
    "--settings.value-fit.iterations 4 --settings.value-fit.batch-size 64"
).split()  # noqa: SIM905


def ascpo(monkeypatch, *words):
    monkeypatch.setattr("sys.argv", ["ascpo", *words])
    main.main()


@pytest.mark.parametrize("algo", ["trpo", "ascpo"])
def test_a_training_leaves_its_log_its_settings_its_policy_and_an_evaluation(tmp_path, monkeypatch, capsys, algo):
    ascpo(monkeypatch, *SMALL, "--algo", algo, "--out", str(tmp_path))
    (directory,) = tmp_path.iterdir()
    with (directory / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["TotalEnvInteracts"]) for row in rows] == [600, 1200]
    assert {"EpRet", "EpCost", "EpMaxCost", "EpLen", "CostRate", "Case", "KL", "EVCost"} <= set(rows[0])
    assert json.loads((directory / "config.json").read_text())["algo"] == algo
    assert np.isfinite(np.load(directory / "policy.npz")["theta"]).all()
    assert json.loads((directory / "evaluation.json").read_text())["sampled"]["Episodes"] == 3
    out = capsys.readouterr().out
    assert "Limits: hazard ≤ 0" in out
    assert "2/2" in out


def test_a_second_run_does_not_overwrite_the_first(tmp_path, monkeypatch):
    words = [*SMALL, "--algo", "trpo", "--evaluate", "0", "--out", str(tmp_path)]
    ascpo(monkeypatch, *words)
    with pytest.raises(FileExistsError, match="holds a run already"):
        ascpo(monkeypatch, *words)


def test_an_unknown_verb_is_answered_with_the_known_one(monkeypatch):
    with pytest.raises(SystemExit, match="ascpo train"):
        ascpo(monkeypatch, "trian")
