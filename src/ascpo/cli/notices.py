"""Notices of `ascpo train` besides its progress."""

from pathlib import Path

from ascpo.evaluation.evaluation_file import FILE, read_evaluation
from ascpo.runs.config import Config
from ascpo.runs.files import BadFile, NoRun
from ascpo.runs.trained_policy import read_policy


def say_length(config: Config) -> None:
    """Say how long the training is, if rounding to whole epochs changes the requested length."""
    epoch = config.settings.num_envs * config.settings.horizon
    if (steps := config.epochs * epoch) != config.total_steps:
        epochs = "an epoch" if config.epochs == 1 else f"{config.epochs} epochs"
        print(
            f"The training takes {steps} steps instead of {config.total_steps}: {epochs} of {epoch} steps, --num-envs "
            f"{config.settings.num_envs} times --horizon {config.settings.horizon}."
        )


def evaluated_episodes(run: Path) -> int:
    """The number of episodes in the evaluation of the run's present policy; 0 if there is none."""
    if not (run / FILE).exists():
        return 0
    try:
        figures = read_evaluation(run).figures
        same = figures.get("policy") == read_policy(run).digest
        return int(figures["sampled"]["Episodes"]) if same else 0
    except (BadFile, NoRun, KeyError, TypeError, ValueError):
        return 0
