"""Answers to flags of other libraries and to mistyped names, before anything heavy is imported."""

import re
import sys
from itertools import takewhile
from pathlib import Path

from ascpo.choices import ALGORITHM_NAMES
from ascpo.cli.usage import WrongUsage
from ascpo.errors import nearest
from ascpo.ranges import shown
from ascpo.runs.elsewhere import ELSEWHERE
from ascpo.runs.environment_name import name_of
from ascpo.runs.places import run_place

NOWHERE = {
    "track": "--wandb logs to Weights & Biases, --mlflow to MLflow, and --tensorboard writes files for TensorBoard",
    "ent-coef": "No algorithm here has an entropy bonus. --initial-log-std sets how widely actions scatter at first",
    "verbose": "The nearest flag is --no-progress",
    "hand-out": "It is now called --final-policy",
}
"""Flags of other libraries that have no counterpart here, and renamed ones."""
_LISTS = ("hidden", "limits")
"""Flags that take several numbers."""


def refuse_foreign(words: list[str]) -> None:
    """Refuse arguments of `ascpo train` that belong to another library, and name the nearest flag."""
    for i, word in enumerate(words):
        if not word.startswith("--"):
            continue
        flag, _, value = word.partition("=")
        name = flag.removeprefix("--").replace("_", "-")
        given = value or next((after for after in words[i + 1 : i + 2] if not after.startswith("--")), "")
        if name in ELSEWHERE:
            raise WrongUsage(f"there is no flag {flag}. Here it is {ELSEWHERE[name]}.")
        if name in NOWHERE:
            raise WrongUsage(f"there is no flag {flag}. {NOWHERE[name]}.")
        if name in _LISTS and re.fullmatch(r"[\[(]?[-+.\de]+(\s*,\s*[-+.\de]+)+[\])]?", given):
            numbers = " ".join(re.findall(r"[-+.\de]+", given))
            raise WrongUsage(f"{flag} takes its numbers with spaces between them: {flag} {numbers}")
        if name == "env" and given and ":" not in given:
            name_of(given)
        if name == "resume" and not given:
            raise WrongUsage(f"--resume needs the directory of a run. {_some_runs(Path('runs'))}")


def refuse_mistyped(words: list[str]) -> None:
    """Refuse names of algorithms and runs that do not exist, before `ascpo train` spends a second on imports."""
    for i, word in enumerate(words):
        flag, _, value = word.partition("=")
        if flag not in ("--algo", "--resume"):
            continue
        given = [value] if value else list(takewhile(lambda after: not after.startswith("--"), words[i + 1 :]))
        # A program that has imported the algorithms may have added some.
        if flag == "--algo" and given and "ascpo.algorithms" not in sys.modules and given[0] not in ALGORITHM_NAMES:
            raise ValueError(f"{shown(given[0])} is not an algorithm. {nearest(given[0], ALGORITHM_NAMES)}")
        if flag == "--resume":
            for run in given:
                run_place(Path(run))


def _some_runs(directory: Path) -> str:
    found = sorted(file.parent for file in directory.glob("*/config.json"))
    if not found:
        return f"There is none in {directory}."
    return f"The latest is {max(found, key=lambda run: run.stat().st_mtime)}. `ascpo list runs` lists all of them."
