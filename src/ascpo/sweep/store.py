"""The store of a sweep: the directories of its runs, and which of them are finished."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

from ascpo.runs.directory import NoRun, RunDirectory
from ascpo.runs.sealed import read_arrays
from ascpo.runs.source import PolicyKind, source_of


@dataclass(frozen=True)
class Store:
    """A directory of runs. Runs that differ only in their seed have the directories NAME-seedN."""

    path: Path

    def run(self, name: str) -> RunDirectory:
        return RunDirectory(self.path / name)

    def seeds(self, name: str) -> list[int]:
        """The seeds of all runs of that name, finished or not."""
        pattern = re.compile(re.escape(f"{name}-seed") + r"(\d+)")
        found = (pattern.fullmatch(path.name) for path in self.path.iterdir()) if self.path.is_dir() else ()
        return sorted(int(match[1]) for match in found if match)

    def finished(self, name: str) -> list[RunDirectory]:
        """The finished runs of that name, by seed."""
        return [run for seed in self.seeds(name) if is_finished(run := self.run(f"{name}-seed{seed}"))]


def failure_file(run: RunDirectory) -> Path:
    """The file that says why a run failed. It exists until the run succeeds."""
    return run.path.parent / "logs" / f"{run.path.name}.txt"


def log_file(run: RunDirectory) -> Path:
    """The output of the process that trains the run."""
    return failure_file(run).with_suffix(".log")


def epochs_done(run: RunDirectory) -> int:
    """Complete rows of metrics.csv."""
    return max(run.metrics.read_bytes().count(b"\n") - 1, 0) if run.metrics.exists() else 0


def is_finished(run: RunDirectory) -> bool:
    """Whether a run has as many epochs as its own config asks for."""
    try:
        epochs = run.config().epochs
    except (NoRun, OSError):
        epochs = math.inf
    return epochs_done(run) >= epochs


def is_trained(run: RunDirectory) -> bool:
    """Whether a finished run has its final policy. If only tables were kept, they decide."""
    if not is_finished(run):
        return False
    config = run.config()
    return final_policy_of(run) == (config.epochs, config.final_policy) or not run.checkpoints.exists()


def final_policy_of(run: RunDirectory) -> tuple[int, PolicyKind]:
    """The epochs of a run's final policy, and its kind. 0 if there is none."""
    try:
        about = read_arrays(run.policy).about
        return int(about["epochs"]), source_of(about).kind
    except (NoRun, KeyError, TypeError, ValueError):
        return 0, "last"
