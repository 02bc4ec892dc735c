"""The work of `ascpo train`, after its command line was parsed."""

import dataclasses
import shlex
import sys
from collections.abc import Sequence

from ascpo.algorithms import Method
from ascpo.cli.notices import evaluated_episodes, say_length
from ascpo.cli.parsing import typed
from ascpo.cli.show import show_evaluation
from ascpo.cli.train import Train
from ascpo.engines.gymnasium.errors import Faulty
from ascpo.runs.active_run import Run
from ascpo.runs.api import launch, relaunch
from ascpo.runs.config import Config
from ascpo.runs.directory import RunDirectory
from ascpo.runs.options import Options
from ascpo.runs.result import Result
from ascpo.runs.sealed import CHANGEABLE
from ascpo.runs.stopping import Stopped
from ascpo.runs.trained_policy import read_policy
from ascpo.runs.trust import flag_for


def train_all(
    asked: Train[Method], configs: Sequence[Config], directories: Sequence[RunDirectory], words: Sequence[str]
) -> None:
    """Train new runs, or continue those in the directories, and evaluate their policies."""
    names = asked.names(configs)
    try:
        if directories:
            runs = [Run(_continued(run.config(), configs[0], words), run) for run in directories]
            results = relaunch(runs, configs[0].env, asked.options)
        else:
            say_length(configs[0])
            results = launch(configs, asked.env, asked.options, out=asked.out, names=names)
    except (Stopped, Faulty) as stopped:
        paths = [run.path for run in directories] or [asked.out / name for name in names]
        if not all((path / "config.json").exists() for path in paths):
            raise
        command = shlex.join(["ascpo", "train", "--resume", *map(str, paths)]) + flag_for(configs[0].env)
        saved = f"All finished epochs are saved. To continue: {command}"
        if isinstance(stopped, Faulty):
            raise Faulty(f"{stopped} {saved}") from stopped.__cause__
        print(f"Stopped by {stopped}. {saved}")
        sys.exit(128 + stopped.number)
    chosen = typed("--evaluate", words)
    for result in results:
        kept = 0 if chosen or not directories else evaluated_episodes(result.directory)
        _finish(result, asked.evaluate, configs[0].env, asked.options, kept)


def _continued(config: Config, asked: Config, words: Sequence[str]) -> Config:
    """The config of a run that continues. Flags may change it; all else stays as the run has it."""
    flags = {word.split("=")[0].replace("_", "-") for word in words}
    length, *of_policy = CHANGEABLE
    changed = [length] if "--total-steps" in flags else []
    changed += of_policy if flags & {"--final-policy", "--validation-episodes"} else []
    return dataclasses.replace(config, **{name: getattr(asked, name) for name in changed})


def _finish(result: Result, episodes: int, env: str, options: Options, kept: int = 0) -> None:
    """Evaluate the policy, write the report, and say where everything is.

    An earlier evaluation with at least as many episodes is kept.
    """
    run = result.directory
    print(f"Log: {run / 'metrics.csv'}")
    print(f"Policy: {run / 'policy.safetensors'}, {read_policy(run).source.description}")
    if episodes:
        from ascpo.report.document import write_report

        if kept > episodes:
            print(f"Evaluation: {run / 'evaluation.json'} of {kept} episodes is kept. --evaluate N replaces it.")
        else:
            show_evaluation(run, episodes, env=env, threads=options.threads, hosting=options)
        print(f"Report: {write_report([run])}")
        print(f"Replay of the worst episodes: {shlex.join(['ascpo', 'replay', str(run)])}{flag_for(env)}")
