"""`ascpo tune`: what it checks and prepares before the first training."""

import importlib.util

import pytest

from ascpo.cli import tune
from ascpo.runs.serialization import BadSetting
from ascpo.sweep.executors import InProcess

TYPED = ["--env", "Point-1-Hazard", "--algo", "trpo", "--probability", "0.9"]


@pytest.mark.parametrize("ends", ["-0.1..0.9", "0.9..1.5"])
def test_both_ends_of_a_range_are_tried_before_the_first_training(tmp_path, ends):
    with pytest.raises(BadSetting, match="gae_lambda"):
        tune.main([*TYPED, "--search", f"gae_lambda={ends}", "--out", str(tmp_path / "search")])
    assert not (tmp_path / "search").exists()


@pytest.mark.skipif(importlib.util.find_spec("optuna") is None, reason="optuna is not installed")
def test_a_search_that_goes_on_gets_places_for_trials_that_have_not_begun(tmp_path, monkeypatch):
    places = []

    def open_executor(placement, jobs, folder):
        places.append([one.name for one in jobs])
        return InProcess(lambda batch: None)

    def one_trial(search, executor, trials, side_by_side, say):
        search.fail(search.ask()[0])

    monkeypatch.setattr(tune, "open_executor", open_executor)
    monkeypatch.setattr(tune, "tune", one_trial)
    for _ in range(2):
        tune.main([*TYPED, "--search", "gae_lambda=0.9..0.99", "--seeds", "1", "--out", str(tmp_path)])
    assert places == [["trial0001-seed0"]] * 2, "the first trial, with the defaults, is in the queue from the beginning"
