"""Hints for flags of other libraries, and the hints that `ascpo train` prints."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ascpo.algorithms import ALGORITHMS
from ascpo.choices import ALGORITHM_NAMES
from ascpo.cli import notices
from ascpo.cli.hints import ELSEWHERE, NOWHERE, refuse_foreign, refuse_mistyped
from ascpo.cli.usage import WrongUsage
from ascpo.runs.config import configure
from ascpo.runs.files import NoRun

SETTINGS = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
FLAGS = set(re.findall(r"`(--[\w.-]+)`", SETTINGS))


def test_every_suggested_flag_exists_and_no_foreign_one_does():
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
def test_flags_of_other_libraries_get_our_flag_suggested(words, answer):
    with pytest.raises(WrongUsage, match=re.escape(answer)):
        refuse_foreign(["--env", "Point-8-Hazard", *words])


def test_our_own_flags_get_no_hint():
    refuse_foreign(["--hidden", "64", "64", "--limits", "-0.1", "--resume", "runs/a", "--name", "gamma"])


def test_a_training_says_if_whole_epochs_need_more_steps_than_requested(capsys):
    notices.say_length(configure("Point-8-Hazard", total_steps=100))
    said = capsys.readouterr().out
    assert said.startswith("The training takes 30000 steps instead of 100: an epoch of 30000 steps")
    notices.say_length(configure("Point-8-Hazard", total_steps=60000))
    assert capsys.readouterr().out == ""


def test_a_run_without_a_readable_evaluation_has_evaluated_nothing(tmp_path):
    assert notices.evaluated_episodes(tmp_path) == 0
    (tmp_path / "evaluation.json").write_text("{")
    assert notices.evaluated_episodes(tmp_path) == 0


def test_the_names_of_the_algorithms_are_those_of_the_algorithms():
    assert list(ALGORITHM_NAMES) == list(ALGORITHMS)


def test_a_run_that_does_not_exist_is_refused_before_anything_is_imported(tmp_path):
    with pytest.raises(NoRun, match="holds no run"):
        refuse_mistyped(["--total-steps", "1e6", "--resume", str(tmp_path / "nowhere")])


@pytest.mark.parametrize("words", [["--algo", "ascp"], ["--algo=ascp"]])
def test_a_mistyped_algorithm_is_refused_without_importing_jax(words):
    program = (
        "import sys; from ascpo.cli.hints import refuse_mistyped\n"
        f"try: refuse_mistyped({words})\n"
        "except ValueError as error: print(error)\n"
        "print('jax' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out == "'ascp' is not an algorithm. Did you mean ascpo or pascpo or scpo?\nFalse\n"
