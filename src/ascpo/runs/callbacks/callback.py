"""The protocol of callbacks, and the data that a training passes to them.

Callbacks change no number of an epoch. They may stop a training, which can then be resumed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from ascpo.runs.config import Config
from ascpo.runs.files import write_whole
from ascpo.runs.links import refuse_links
from ascpo.runs.presets import MEANINGS, replacements
from ascpo.runs.tables import Row, read_rows


@dataclass(frozen=True)
class TrainingPlan:
    """The training that is about to start."""

    config: Config
    directory: Path
    """The directory of the run."""
    epochs_done: int
    """The number of epochs that a resumed run has already; 0 in a new run."""
    description: str
    """A phrase for how the algorithm treats costs."""
    limits: dict[str, float]
    """The limit of each constraint."""
    target: str = ""
    """A phrase for the target of every step of a constrained algorithm."""
    notes: tuple[str, ...] = ()
    """Warnings about the environment, a sentence each."""
    other_runs: tuple[Path, ...] = ()
    """Directories of the runs that train at the same time."""

    @property
    def directories(self) -> tuple[Path, ...]:
        """The directories of all runs that train at the same time."""
        return (self.directory, *self.other_runs)

    def earlier(self) -> dict[Path, list[Row]]:
        """The earlier rows of `metrics.csv` of resumed runs, by the run's directory."""
        return {path: read_rows(path / "metrics.csv") for path in self.directories}

    def sentences(self) -> list[str]:
        """A description of the run and its target."""
        config, settings = self.config, self.config.settings
        limits = ", ".join(f"{name} at or under {limit:g}" for name, limit in self.limits.items())
        steps = config.epochs * settings.num_envs * settings.horizon
        epochs = "one epoch" if config.epochs == 1 else f"{config.epochs} epochs"
        length = f"{steps:,} steps: {epochs} of {settings.num_envs} × {settings.horizon}"
        margin = f"; margin {settings.margin:g}" if settings.margin else ""
        lines = [
            f"{config.env}, {config.algo}, seed {config.seed}, {length}",
            f"Target: {self._target(limits)}",
            f"Method: {config.algo} {self.description}{margin}",
            *([f"Every step aims at: {self.target}"] if self.target else ()),
            *([f"Preset: {config.preset}, {MEANINGS[config.preset]}"] if config.preset else ()),
            f"Final policy: {_final_policy(config)}",
            f"Directory: {self.directory}",
            *([f"At the same time: {', '.join(path.name for path in self.other_runs)}"] if self.other_runs else ()),
            *(f"Note: {note}" for note in (*replacements(config), *self.notes)),
        ]
        return [*lines, f"Continuing after epoch {self.epochs_done}"] if self.epochs_done else lines

    def _target(self, limits: str) -> str:
        algorithm, percent = self.config.algorithm(), f"{100 * self.config.settings.probability:.4g} %"
        if algorithm.limits_on == "episode" and any(self.limits.values()):
            return f"{algorithm.quantity} stays within the limit of an episode's sum of costs ({limits})"
        within = f"stays within its limit ({limits}) in {percent} of all episodes"
        return f"the largest cost of any state in an episode {within}"


@dataclass(frozen=True)
class EpochRecord:
    """The last epoch of one run."""

    directory: Path
    """The directory of the run."""
    metrics: Row
    """The row of `metrics.csv`."""
    timing: Row
    """The row of `timing.csv`."""
    policy: Callable[[], bytes] | None = field(default=None, repr=False, compare=False)
    """Returns the content of a policy's file."""

    def save_policy(self, path: Path) -> None:
        """Save the policy after this epoch as a file, for `ascpo.load`."""
        if self.policy is None:
            raise ValueError("This record has no policy.")
        refuse_links(path)
        write_whole(path, self.policy())


@runtime_checkable
class Callback(Protocol):
    """A callback of a training. Inherit from it to leave methods out, or write a class with these methods.

    A method that returns False stops the training. Its final policy is then saved as at the end.
    """

    def on_training_start(self, plan: TrainingPlan) -> bool | None:
        """Called once, before the first epoch of a new or a resumed training."""
        ...

    def on_epoch_end(self, epochs: Sequence[EpochRecord]) -> bool | None:
        """Called after every epoch, with a record of each run."""
        ...

    def on_training_end(self) -> None:
        """Called at the end, also after an error."""
        ...


def _final_policy(config: Config) -> str:
    """A description of a run's final policy."""
    kept, n = config.settings.kept_policies, config.settings.averaged_policies(config.epochs)
    mean = f"the mean of the policies after the last {n} epochs" if n > 1 else "the policy after the last epoch"
    selected = f"the best of the last {kept} policies and {mean}, by {config.validation_episodes} validation episodes"
    return {
        "last": "the policy after the last epoch",
        "average": mean,
        "selected": f"{selected} of each",
    }[config.final_policy]
