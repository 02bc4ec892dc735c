"""A job: one run to train and evaluate. A batch: jobs that train in one engine."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascpo.runs.callbacks.callback import EpochRecord, TrainingPlan
from ascpo.runs.config import Config
from ascpo.runs.directory import NoRun, RunDirectory
from ascpo.runs.serialization import BadSetting
from ascpo.sweep.evaluation import Evaluation, from_data, is_evaluated, to_data
from ascpo.sweep.store import check_settings, epochs_done, is_trained


@dataclass(frozen=True)
class Job:
    """What to train, where to keep it, and which episodes to play with the policy."""

    config: Config
    directory: Path
    evaluation: Evaluation | None = None
    checkpoint_every: float = 60.0

    @property
    def run(self) -> RunDirectory:
        return RunDirectory(self.directory)

    @property
    def name(self) -> str:
        return self.directory.name

    @property
    def epochs_left(self) -> int:
        return max(self.config.epochs - epochs_done(self.run), 0)

    def check(self) -> None:
        """A run that exists must have the job's settings."""
        check_settings(self.run, self.config)

    def is_trained(self) -> bool:
        return is_trained(self.run, self.config)

    def is_done(self) -> bool:
        return self.is_trained() and is_evaluated(self.run, self.evaluation)

    def is_busy(self) -> bool:
        """Whether another process trains it."""
        if not self.directory.is_dir():
            return False
        try:
            with self.run.locked():
                return False
        except NoRun:
            return True

    def to_data(self) -> dict[str, Any]:
        """Plain data, for a process or a machine that gets the job as JSON."""
        return {
            "config": json.loads(self.config.to_json()),
            "directory": str(self.directory),
            "evaluation": to_data(self.evaluation),
            "checkpoint_every": self.checkpoint_every,
        }

    @staticmethod
    def from_data(data: dict[str, Any]) -> "Job":
        config = Config.from_json(json.dumps(data["config"]))
        return Job(config, Path(data["directory"]), from_data(data["evaluation"]), data["checkpoint_every"])


Batch = tuple[Job, ...]
"""Jobs that are trained in one engine. A job alone is a batch of one."""


def can_share_engine(jobs: Sequence[Job]) -> bool:
    """Whether one engine can train all of them. A job that only lacks its evaluation needs no engine."""
    from ascpo.runs.trainer import check_can_share

    if any(job.is_trained() for job in jobs):
        return False
    try:
        check_can_share([job.config for job in jobs])
    except BadSetting:
        return False
    return True


def run_batch(
    batch: Batch, *, threads: int = 0, display: bool = False, on_epoch: Callable[[], None] | None = None
) -> None:
    """Train and evaluate what is missing of a batch, in this process. Runs that were stopped resume."""
    for job in batch:
        job.check()
    if untrained := [job for job in batch if not job.is_trained()]:
        _train(untrained, threads, display, on_epoch)
    for job in batch:
        if job.evaluation is not None and not is_evaluated(job.run, job.evaluation):
            job.evaluation.play(job.run, threads)


def _train(jobs: Sequence[Job], threads: int, display: bool, on_epoch: Callable[[], None] | None) -> None:
    from ascpo.runs.active_run import Run
    from ascpo.runs.api import Options, relaunch
    from ascpo.runs.environment import is_suite

    first = jobs[0]
    # Only a suite on the host has threads to choose.
    threads = threads if first.config.engine == "native" and is_suite(first.config.env) else 0
    options = Options(threads=threads, progress=display, checkpoint_every=first.checkpoint_every)
    runs = [Run(job.config, job.run) for job in jobs]
    relaunch(runs, first.config.env, options, [_EpochCallback(on_epoch)] if on_epoch else [])


@dataclass(frozen=True)
class _EpochCallback:
    """A callback of the trainer that calls a function after every epoch."""

    on_epoch: Callable[[], None]

    def on_training_start(self, plan: TrainingPlan) -> None: ...

    def on_epoch_end(self, epochs: Sequence[EpochRecord]) -> None:
        self.on_epoch()

    def on_training_end(self) -> None: ...
