"""`ascpo tune`: what it refuses and prepares before a trial, and the sweep that follows."""

import importlib.util
import shlex
from types import SimpleNamespace

import pytest

from ascpo.cli import tune
from ascpo.cli.parsing import parsed
from ascpo.cli.sweep import Sweep
from ascpo.cli.tune import Tune, _command
from ascpo.sweep.executors import InProcess
from ascpo.tuning.study import FIRST_SEED


def test_the_sweep_that_follows_trains_with_the_settings_of_the_best_trial():
    asked = Tune(
        search=("trust_region.delta=0.01..0.04",),
        env="Point-1-Hazard",
        preset="published",
        engine="mjx-jax",
        total_steps=1_234_567,
        set=("num_envs=7", "hidden=(32, 32)"),
        episodes=500,
    )
    setup = asked.setup()
    found = {"trust_region.delta": 0.0123456789012345}
    search = SimpleNamespace(feasible=lambda: [SimpleNamespace(params=found)])
    _, verb, *words = shlex.split(_command(asked, search))
    assert verb == "sweep"
    first, *_ = parsed(Sweep, words, "ascpo sweep").jobs()
    (trial, *_) = setup.batch(0, found)
    assert first.config.seed == 0
    assert trial.config.seed == FIRST_SEED
    assert {**first.config.plain(), "seed": None} == {**trial.config.plain(), "seed": None}


@pytest.mark.parametrize("ends", ["-1..0.9", "0.9..1.5"])
def test_a_range_with_an_end_that_the_setting_refuses_is_refused_before_the_first_trial(
    ascpo, capsys, monkeypatch, tmp_path, ends
):
    monkeypatch.setattr("ascpo.cli.tune.tune", lambda *_: pytest.fail("A trial began."))
    with pytest.raises(SystemExit) as end:
        ascpo("tune", "--search", f"discount={ends}", "--env", "Point-1-Hazard", "--trials", 1, "--out", tmp_path)
    assert end.value.code == 1
    assert "must be a number above 0 and at most 1" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


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
    typed = ["--env", "Point-1-Hazard", "--algo", "trpo", "--probability", "0.9"]
    for _ in range(2):
        tune.main([*typed, "--search", "gae_lambda=0.9..0.99", "--seeds", "1", "--out", str(tmp_path)])
    assert places == [["trial0001-seed0"]] * 2, "the first trial, with the defaults, is in the queue from the beginning"
