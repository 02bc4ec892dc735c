"""Evaluate a policy from Python, on episodes that no training uses."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import get_args

import numpy as np

from ascpo.choices import Actions
from ascpo.errors import BadSetting
from ascpo.evaluation.evaluate import evaluate_run
from ascpo.evaluation.evaluation_file import episodes_file
from ascpo.evaluation.foreign import evaluate_foreign, where_of
from ascpo.evaluation.foreign_policy import PolicyLike, is_foreign_policy, policy_name
from ascpo.evaluation.intervals import LEVEL
from ascpo.evaluation.metrics import MEANINGS, Figures
from ascpo.ranges import shown
from ascpo.runs.callbacks.display import counting
from ascpo.runs.compilation import set_up_compilation
from ascpo.runs.directory import find
from ascpo.runs.environment_name import Environment
from ascpo.runs.hosting import Hosting
from ascpo.runs.notebook import Columns, DataFrame, data_frame, html_table
from ascpo.runs.run_like import path_of
from ascpo.runs.tables import read_table


@dataclass(frozen=True)
class Evaluation:
    """The figures of an evaluation."""

    policy: str
    """The policy: the name of a run's directory, or of a foreign policy, such as `python:module:act`."""
    directory: Path
    """The directory with the figures and the episodes."""
    actions: Actions
    """The kind of actions. A foreign policy has `mean`: it took the actions that it returned."""
    figures: dict[str, float | None]
    """The figures by their names in docs/log.md: `EpRet`, `SafeRate` and others."""
    intervals: dict[str, tuple[float, float]] = field(repr=False)
    """Confidence intervals of 95 %, for those that have one."""

    @cached_property
    def episodes(self) -> dict[str, np.ndarray]:
        """A value for each episode, by column: its scene, its return, its costs."""
        return read_table(self.directory / episodes_file(self.actions))

    @property
    def summary(self) -> Columns:
        """The figures as columns: name, value, the ends of the interval, and what it means."""
        low, high = zip(*(self.intervals.get(name, (None, None)) for name in self.figures), strict=True)
        return {
            "figure": list(self.figures),
            "value": list(self.figures.values()),
            "low": list(low),
            "high": list(high),
            "meaning": [MEANINGS.get(name, "") for name in self.figures],
        }

    def to_pandas(self) -> DataFrame:
        """The episodes as a pandas.DataFrame."""
        return data_frame(self.episodes)

    def _repr_html_(self) -> str:
        title = f"{self.policy}: fresh episodes with {self.actions} actions"
        return html_table(title, self.summary, [f"The intervals have a confidence of {100 * LEVEL:g} %."])


def evaluate(
    run: PolicyLike,
    episodes: int = 1000,
    *,
    env: Environment | None = None,
    trust_env: bool = False,
    seed: int = 0,
    actions: Actions | None = None,
    keep: int = 10,
    threads: int = 0,
    processes: bool = False,
    step_timeout: float | None = None,
    restart_environments: bool = False,
    max_episode_steps: int | None = None,
    progress: bool = True,
) -> Evaluation:
    """Evaluate a policy on fresh episodes, as `ascpo evaluate` does.

    `run` is the directory of a run, or what `ascpo.train` returned. Its actions are sampled unless `actions` is `mean`.
    A run of an environment outside this package needs `env`, or `trust_env` to import and run what its files name.

    With `env`, `run` may also be a policy of another library: any function from observation to action, or the name
    `sb3:FILE.zip`, `onnx:FILE.onnx` or `python:MODULE:FUNCTION`.
    """
    set_up_compilation()
    hosting = Hosting(processes, step_timeout, restart_environments)
    host = {"threads": threads, "hosting": hosting, "max_episode_steps": max_episode_steps}
    if callable(run) or is_foreign_policy(run):
        where = where_of(run, env, trust_env=trust_env, actions=actions, **host)
        with counting("episodes", episodes, shown=progress) as on_progress:
            directory, figures = evaluate_foreign(run, where, episodes, seed=seed, keep=keep, on_progress=on_progress)
        return _evaluation(policy_name(run), directory, "mean", figures)
    path, actions = path_of(run), actions or "sampled"
    if actions not in get_args(Actions):
        raise BadSetting(f"actions={shown(actions)}: an evaluation has one kind of actions. Use 'sampled' or 'mean'.")
    with counting("episodes", episodes, shown=progress) as on_progress:
        found = evaluate_run(
            path,
            episodes,
            env=env,
            trust_env=trust_env,
            seed=seed,
            actions=actions,
            keep=keep,
            on_progress=on_progress,
            **host,
        )
    directory = find(path).path
    return _evaluation(directory.name, directory, actions, found[actions])


def _evaluation(policy: str, directory: Path, actions: Actions, found: Figures) -> Evaluation:
    figures = dict(found)
    intervals = {name: (low, high) for name, (low, high) in figures.pop("intervals").items()}
    return Evaluation(policy, directory, actions, figures, intervals)
