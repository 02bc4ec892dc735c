"""`ascpo evaluate RUN`: evaluate a run's policy on fresh episodes."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from ascpo.choices import EvaluatedActions
from ascpo.cli.own_code import OwnCode
from ascpo.cli.parsing import parsed, typed
from ascpo.evaluation.foreign_name import refuse_mistakes
from ascpo.ranges import Episodes, EpisodeSteps, Range, Seed, Threads
from ascpo.runs.hosting import PLAIN, Hosting
from ascpo.runs.places import is_foreign, run_place


@dataclass(frozen=True)
class Evaluate:
    """Evaluate a run's policy on fresh episodes, which its training has not seen.

    The command prints the figures. The run's directory keeps them, with a table of all episodes and records of the
    worst. Next: `ascpo replay RUN` and `ascpo video RUN` show these, and `ascpo certify RUN` makes a guarantee of such
    a count.
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run's directory. Or, with --env, a policy of other libraries: sb3:FILE.zip, onnx:FILE.onnx or
    python:MODULE:FUNCTION."""
    episodes: Episodes = 1000
    """The number of episodes."""
    actions: EvaluatedActions = "sampled"
    """The actions of the policy: sampled, its mean actions, or one evaluation with each."""
    seed: Seed = 0
    """The seed of the episodes. The same seed gives the same episodes. Training has seen none of them."""
    keep: Annotated[int, Range(at_least=0, at_most=10**4)] = 10
    """The number of worst episodes that are kept for `ascpo replay`."""
    threads: Threads = 0
    """Number of threads that simulate a suite. 0 uses one per core."""
    own_code: Annotated[OwnCode, tyro.conf.arg(name="")] = field(default_factory=OwnCode)
    max_episode_steps: EpisodeSteps | None = None
    """Truncate the episodes of your own environment after this many steps. By default this is as in the training."""
    hosting: Annotated[Hosting, tyro.conf.arg(name="")] = PLAIN


def _evaluate_foreign(asked: Evaluate, words: list[str]) -> None:
    from ascpo.cli.show import counting, show_figures
    from ascpo.evaluation.foreign import evaluate_foreign, where_of

    where = where_of(
        asked.run,
        **vars(asked.own_code),
        actions=asked.actions if typed("--actions", words) else None,
        threads=asked.threads,
        max_episode_steps=asked.max_episode_steps,
        hosting=asked.hosting,
    )
    with counting("episodes", asked.episodes) as on_progress:
        directory, figures = evaluate_foreign(
            asked.run, where, asked.episodes, seed=asked.seed, keep=asked.keep, on_progress=on_progress
        )
    show_figures({"its": figures}, asked.episodes)
    print(f"Figures, episodes and the worst of them: {directory}")


def main(words: list[str]) -> None:
    asked = parsed(Evaluate, words, "ascpo evaluate")
    if foreign := is_foreign(str(asked.run)):
        actions = asked.actions if typed("--actions", words) else None
        refuse_mistakes([str(asked.run)], **vars(asked.own_code), actions=actions)
    else:
        run_place(asked.run)
    from ascpo.cli.show import show_evaluation
    from ascpo.runs.compilation import set_up_compilation

    set_up_compilation()
    if foreign:
        return _evaluate_foreign(asked, words)
    how = {name: value for name, value in vars(asked).items() if name != "own_code"}
    show_evaluation(**how, **vars(asked.own_code))
