"""Words of other libraries, and what `ascpo train` says beside its progress."""

import re
from pathlib import Path

import pytest

from ascpo.cli import notices
from ascpo.cli.hints import ELSEWHERE, NOWHERE, refuse_foreign
from ascpo.cli.usage import WrongUsage
from ascpo.runs.config import configure

SETTINGS = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
FLAGS = set(re.findall(r"`(--[\w.-]+)`", SETTINGS))


def test_the_nearest_flag_exists_and_the_foreign_one_does_not():
    assert {f"--{name}" for name in (*ELSEWHERE, *NOWHERE)} & FLAGS == set()
    named = set(re.findall(r"--[\w.-]*\w", " ".join(ELSEWHERE.values())))
    assert named <= FLAGS


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--gamma", "0.99"], "--discount"),
        (["--cost_limit=25"], "--limits"),
        (["--lr", "3e-4"], "--value-fit.learning-rate"),
        (["--timesteps", "100"], "--total-steps"),
        (["--track"], "--wandb"),
        (["--wandb-project-name", "mine"], "WANDB_PROJECT"),
        (["--hidden", "64,64"], "--hidden 64 64"),
        (["--hidden=[64, 64]"], "--hidden 64 64"),
        (["--resume"], "--resume needs the directory of a run"),
        (["--resume", "--no-progress"], "--resume needs the directory of a run"),
    ],
)
def test_words_of_other_libraries_are_answered_with_the_nearest_flag(words, answer):
    with pytest.raises(WrongUsage, match=re.escape(answer)):
        refuse_foreign(["--env", "Point-8-Hazard", *words])


def test_our_own_words_pass():
    refuse_foreign(["--hidden", "64", "64", "--limits", "-0.1", "--resume", "runs/a", "--name", "gamma"])


def test_a_training_of_whole_epochs_says_that_it_takes_more_steps_than_asked_for(capsys):
    notices.say_length(configure("Point-8-Hazard", total_steps=100))
    said = capsys.readouterr().out
    assert said.startswith("The training takes 30000 steps instead of 100: an epoch of 30000 steps")
    notices.say_length(configure("Point-8-Hazard", total_steps=60000))
    assert capsys.readouterr().out == ""


def test_a_run_without_a_readable_evaluation_has_evaluated_nothing(tmp_path):
    assert notices.evaluated_episodes(tmp_path) == 0
    (tmp_path / "evaluation.json").write_text("{")
    assert notices.evaluated_episodes(tmp_path) == 0
