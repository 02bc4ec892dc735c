"""`ascpo evaluate RUN`: judge a run's policy on fresh episodes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ascpo.cli.show import judged
from ascpo.evaluation.evaluate import Actions
from ascpo.runs.compilation_cache import keep_compiled_programs


@dataclass(frozen=True)
class Evaluate:
    """Judge a run's policy on fresh episodes. Figures, all episodes and the worst of them are kept with the run."""

    run: Annotated[Path, tyro.conf.Positional]
    """The run's directory."""
    episodes: int = 1000
    """How many."""
    actions: Actions = "sampled"
    """As the policy draws them, its mean ones, or one after the other."""
    seed: int = 0
    """Of the episodes; the same seed, the same episodes. Training has seen none of them."""
    keep: int = 10
    """How many of the worst episodes to keep for `ascpo replay`."""
    threads: int = 0
    """Threads of the simulator, 0 for one per core."""


def main(words: list[str]) -> None:
    wanted = tyro.cli(Evaluate, args=words, prog="ascpo evaluate")
    keep_compiled_programs()
    judged(
        wanted.run,
        wanted.episodes,
        seed=wanted.seed,
        threads=wanted.threads,
        actions=wanted.actions,
        keep=wanted.keep,
    )
