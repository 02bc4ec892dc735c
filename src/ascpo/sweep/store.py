"""Where the runs of the paper lie: OUT/scale-0.1/Point-8-Hazard-ascpo-seed0. Runs of different lengths never mix.

Runs that were measured are apart, in OUT/scale-0.1/alone, since they must have had a process for themselves.
"""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ascpo.paper.experiments import Experiment, Training, Variant
from ascpo.runs.config import Config
from ascpo.runs.directory import NoRun, RunDirectory
from ascpo.runs.plain import BadSetting
from ascpo.sweep.evaluation import has_played
from ascpo.sweep.overrides import differences


@dataclass(frozen=True)
class Shelf:
    """The runs of one scale."""

    out: Path
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not self.scale > 0:
            raise BadSetting(f"scale={self.scale}: ask for a part of the paper's steps, for example 0.1.")

    @property
    def path(self) -> Path:
        return self.out / f"scale-{self.scale:g}"

    @property
    def figures(self) -> Path:
        return self.out / "figures" / f"scale-{self.scale:g}"

    def run(self, experiment: Experiment, training: Training) -> RunDirectory:
        return RunDirectory(self._folder(experiment) / training.name)

    def trouble(self, experiment: Experiment, training: Training) -> Path:
        """Where it is written down why a training failed."""
        return self._folder(experiment) / "logs" / f"{training.name}.txt"

    def seeds(self, experiment: Experiment, suite: str, variant: Variant) -> list[int]:
        """Of all runs that there are, the experiment's own seeds and others."""
        pattern = re.compile(re.escape(f"{suite}-{variant.name}-seed") + r"(\d+)")
        folder = self._folder(experiment)
        found = (pattern.fullmatch(path.name) for path in folder.iterdir()) if folder.is_dir() else ()
        return sorted(int(match[1]) for match in found if match)

    def finished(self, experiment: Experiment, suite: str, variant: Variant) -> list[RunDirectory]:
        """The runs that came to their end, by seed."""
        runs = (self.run(experiment, Training(suite, variant, s)) for s in self.seeds(experiment, suite, variant))
        return [run for run in runs if epochs_done(run) >= _epochs(run)]

    def has(self, experiment: Experiment, training: Training) -> bool:
        """Whether a run is there, to its end and with its episodes: however many, and with whatever settings."""
        run = self.run(experiment, training)
        return 0 < _epochs(run) <= epochs_done(run) and has_played(run, experiment.play)

    def _folder(self, experiment: Experiment) -> Path:
        return self.path / "alone" if experiment.alone else self.path


def epochs_done(run: RunDirectory) -> int:
    """Whole rows of its table."""
    return max(run.metrics.read_bytes().count(b"\n") - 1, 0) if run.metrics.exists() else 0


def is_trained(run: RunDirectory, config: Config) -> bool:
    """Every epoch is done, and the last policy saved. Of runs whose tables alone were kept, the tables count."""
    if not run.config_file.exists() or epochs_done(run) < config.epochs:
        return False
    return _epochs_of_policy(run) == config.epochs or not run.checkpoints.exists()


def check_settings(run: RunDirectory, config: Config) -> None:
    """A run that there is must be the one that is wanted."""
    if not run.config_file.exists():
        return
    found = run.config()
    if found.fingerprint != config.fingerprint:
        name, (wanted, there) = next(iter(differences(config, found).items()))
        raise NoRun(
            f"{run.path} was trained with {name}={there}, and {wanted} is wanted now. Choose another --out, or remove "
            f"that directory."
        )


def unusual(shelf: Shelf, experiment: Experiment, trainings: Iterable[Training]) -> dict[str, tuple[object, object]]:
    """Settings of the runs that are not those that the experiment would take: name → (usual, of the run)."""
    out: dict[str, tuple[object, object]] = {}
    for training in trainings:
        run, algo = shelf.run(experiment, training), training.variant.algo
        if run.config_file.exists():
            usual, there = training.config(shelf.scale), run.config()
            out |= differences(usual.settings, there.settings)
            out |= {f"{algo}.{name}": both for name, both in differences(usual.method, there.method).items()}
    return out


def engines(shelf: Shelf, experiment: Experiment, trainings: Iterable[Training]) -> dict[str, list[str]]:
    """Of the runs that there are: engine → suites."""
    out: dict[str, list[str]] = {}
    for training in trainings:
        run = shelf.run(experiment, training)
        if run.config_file.exists():
            suites = out.setdefault(run.config().engine, [])
            suites += [] if training.suite in suites else [training.suite]
    return out


def _epochs(run: RunDirectory) -> float:
    """As its settings say; without end if they cannot be read."""
    try:
        return run.config().epochs
    except (NoRun, OSError):
        return math.inf


def _epochs_of_policy(run: RunDirectory) -> int:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(run.policy, framework="numpy") as file:
            return int(json.loads((file.metadata() or {})["ascpo"])["epochs"])
    except (OSError, SafetensorError, KeyError, ValueError):
        return 0
