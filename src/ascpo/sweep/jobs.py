"""Jobs, which are runs to train and evaluate, and batches of jobs that train in one engine."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ascpo.runs.callbacks.callback import EpochRecord, TrainingPlan
from ascpo.runs.config import Config
from ascpo.runs.directory import NoRun, RunDirectory
from ascpo.runs.serialization import BadSetting, differences
from ascpo.sweep.evaluation import Evaluation, FixedStarts, HeldOutEpisodes, is_evaluated
from ascpo.sweep.store import epochs_done, final_policy_of


@dataclass(frozen=True)
class Job:
    """A run to train and evaluate, and its directory."""

    config: Config
    directory: Path
    evaluation: Evaluation | None = None
    checkpoint_every: float = 60.0
    trained: bool = field(default=False, compare=False)
    """Whether the sweep has trained it already, so that only its evaluation is left, which needs no GPU."""

    @property
    def run(self) -> RunDirectory:
        return RunDirectory(self.directory)

    @property
    def name(self) -> str:
        return self.directory.name

    @property
    def epochs_left(self) -> int:
        return max(self.config.epochs - epochs_done(self.run), 0)

    @property
    def config_to_train(self) -> Config:
        """The config. An existing run keeps its version of the seeding."""
        if not self.run.config_file.exists():
            return self.config
        return replace(self.config, seeding=self.run.config().seeding)

    def check(self) -> None:
        """Raise an error if the run was trained with other settings."""
        wanted_config = self.config_to_train
        if not self.run.config_file.exists() or (found := self.run.config()).fingerprint == wanted_config.fingerprint:
            return
        name, (wanted, present) = next(iter(differences(wanted_config, found).items()))
        raise NoRun(
            f"{self.directory} was trained with {name}={present}, but this sweep needs {wanted}. Choose another --out, "
            f"or remove that directory."
        )

    def is_trained(self) -> bool:
        """Whether all epochs are done and the final policy is saved. If only tables were kept, they decide."""
        if self.epochs_left or not self.run.config_file.exists():
            return False
        expected = (self.config.epochs, self.config.final_policy)
        return final_policy_of(self.run) == expected or not self.run.checkpoints.exists()

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

    def to_data(self) -> list[object]:
        """Plain data for JSON."""
        evaluation = asdict(self.evaluation) if self.evaluation else None
        return [self.config.plain(), str(self.directory), evaluation, self.checkpoint_every, self.trained]

    @staticmethod
    def from_data(data: Sequence[Any]) -> "Job":
        config, directory, episodes, checkpoint_every, *trained = data
        kind = FixedStarts if "starts" in (episodes or ()) else HeldOutEpisodes
        evaluation = episodes and kind(**episodes)
        return Job(Config.from_plain(config), Path(directory), evaluation, checkpoint_every, *trained)


def learned_steps(config: Config) -> int:
    """Steps in the window of the cost critics, which take most of a run's memory and disk space."""
    window = config.settings.cost_fit.window if config.algorithm().cost_critics else 1
    return config.settings.num_envs * config.settings.horizon * window


Batch = tuple[Job, ...]
"""Jobs that are trained in one engine. A single job is a batch of one."""


def can_share_engine(jobs: Sequence[Job]) -> bool:
    """Whether one engine can train these jobs. A job that only lacks its evaluation needs no engine."""
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
    """Train and evaluate what is missing of a batch, in this process. Existing runs are resumed."""
    from ascpo.runs.active_run import Run
    from ascpo.runs.api import OneRunAtATime, Options, relaunch
    from ascpo.runs.environment import is_suite

    for job in batch:
        job.check()
    if runs := [Run(job.config_to_train, job.run) for job in batch if not job.is_trained()]:
        config = runs[0].config
        # Only suites on the host take a number of threads, and so do their episodes after training.
        options = Options(
            threads=threads if config.engine == "native" and is_suite(config.env) else 0,
            progress=display,
            checkpoint_every=batch[0].checkpoint_every,
        )
        callbacks = [_EpochCallback(on_epoch)] if on_epoch else []
        try:
            relaunch(runs, config.env, options, callbacks)
        except OneRunAtATime:
            for run in runs:
                relaunch([run], config.env, options, callbacks)
    for job in batch:
        if job.evaluation is not None and not is_evaluated(job.run, job.evaluation):
            job.evaluation.play(job.run, job.config.env, threads if is_suite(job.config.env) else 0)


@dataclass(frozen=True)
class _EpochCallback:
    """A callback of the trainer that calls a function after every epoch."""

    on_epoch: Callable[[], None]

    def on_training_start(self, plan: TrainingPlan) -> None: ...

    def on_epoch_end(self, epochs: Sequence[EpochRecord]) -> None:
        self.on_epoch()

    def on_training_end(self) -> None: ...
