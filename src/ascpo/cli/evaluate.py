"""`ascpo evaluate RUN`: evaluate a run's policy on fresh episodes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ascpo.cli.show import show_evaluation
from ascpo.evaluation.evaluate import Actions
from ascpo.runs.compilation_cache import keep_compiled_programs
from ascpo.runs.hosting import PLAIN, Hosting


@dataclass(frozen=True)
class Evaluate:
    """Evaluate a run's policy on fresh episodes. The run's directory keeps figures, episodes and the worst of them."""

    run: Annotated[Path, tyro.conf.Positional]
    """The run's directory."""
    episodes: int = 1000
    """The number of episodes."""
    actions: Actions = "sampled"
    """Which actions the policy takes: those that it samples, its mean actions, or first the one and then the other."""
    seed: int = 0
    """The seed of the episodes. The same seed gives the same episodes. Training has seen none of them."""
    keep: int = 10
    """The number of worst episodes that are kept for `ascpo replay`."""
    threads: int = 0
    """Number of threads that simulate a suite. 0 uses one per core."""
    max_episode_steps: int | None = None
    """Truncate the episodes of your own environment after this many steps. By default this is as in the training."""
    hosting: Annotated[Hosting, tyro.conf.arg(name="")] = PLAIN


def main(words: list[str]) -> None:
    asked = tyro.cli(Evaluate, args=words, prog="ascpo evaluate")
    keep_compiled_programs()
    show_evaluation(**vars(asked))
