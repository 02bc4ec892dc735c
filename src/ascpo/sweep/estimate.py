"""Estimates of training times, from finished runs or by a rule of thumb.

The rule: the steps of an epoch at the robot's speed, and a second and a half for learning (three seconds for algorithms
that take clipped steps), measured on two cores of an Intel Xeon at 2.5 GHz with epochs of 30 × 1000 steps. A GPU takes
a thirtieth of that for each run of a batch, measured on an H200 with six batches of three to 32 runs at the same time.
If finished runs differ from the rule, the same correction applies to other environments on the same engine.
"""

import contextlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ascpo.guard.suites import UnknownSuite, suite
from ascpo.runs.config import Config
from ascpo.runs.directory import RunDirectory
from ascpo.runs.tables import read_table
from ascpo.sweep.jobs import Job

_LEARNING, _CLIPPED_LEARNING = 1.5, 3.0
_STEPS = 30_000
"""Steps of the epoch in which learning takes these seconds."""
_GPU = 1 / 30
"""Time of a run in a batch on a GPU, as a fraction of the rule's."""
_UNKNOWN_SPEED = 5e3
"""Steps per second of an environment that is not a suite."""
RULE = "estimated from the speed of finished runs, or by a rule of thumb for two cores at 2.5 GHz"


class Estimate:
    """Training times, learned from the finished epochs of runs."""

    def __init__(self, folder: Path) -> None:
        self._known: dict[tuple[str, ...], dict[Path, float]] = defaultdict(dict)
        """Key → run → ratio of its time to that of the rule. Keys are from specific (engine, environment, algorithm) to
        general (engine)."""
        for timing in sorted(folder.glob("*/timing.csv")):
            self.learn(RunDirectory(timing.parent))

    def learn(self, run: RunDirectory) -> None:
        """Learn from the epochs of a run so far."""
        with contextlib.suppress(ValueError, OSError):
            if (seconds := epoch_seconds(run)) is not None:
                config = run.config()
                for key in _keys(config):
                    self._known[key][run.path] = seconds / _steps(config) / _rule(config)

    def seconds(self, config: Config, epochs: int | None = None) -> float:
        """Seconds of so many epochs, or of a whole training."""
        known = next((self._known[key] for key in _keys(config) if key in self._known), {})
        correction = float(np.median(list(known.values()))) if known else 1.0
        return (config.epochs if epochs is None else epochs) * _steps(config) * _rule(config) * correction


def longest_first(jobs: Iterable[Job], estimate: Estimate) -> list[Job]:
    """Jobs sorted by their estimated time, so that all workers finish at about the same time."""
    return sorted(jobs, key=lambda job: -estimate.seconds(job.config))


def _rule(config: Config) -> float:
    """Seconds of a step by the rule of thumb."""
    # A clipped step is many epochs of Adam, which take longer than one step within a trust region.
    learning = _CLIPPED_LEARNING if config.outline.step == "clipped" else _LEARNING
    return (1 / _steps_per_second(config.env) + learning / _STEPS) * (1.0 if config.engine == "native" else _GPU)


def _steps(config: Config) -> int:
    """Steps of an epoch."""
    return config.settings.num_envs * config.settings.horizon


def _keys(config: Config) -> tuple[tuple[str, ...], ...]:
    return (config.engine, config.env, config.algo), (config.engine, config.env), (config.engine,)


def _steps_per_second(env: str) -> float:
    try:
        return suite(env).robot.steps_per_second
    except UnknownSuite:
        return _UNKNOWN_SPEED


def epoch_seconds(run: RunDirectory) -> float | None:
    """Seconds of the median epoch, without the first two, which compile, and those whose times were lost."""
    if not run.timing.exists():
        return None
    times = read_table(run.timing)
    parts = [column for name, column in times.items() if name.startswith("Time") and name != "TimeSaved"]
    total = np.sum(parts, axis=0)[2:] if parts else np.zeros(0)
    known = total[np.isfinite(total)]
    return float(np.median(known)) if len(known) else None


def duration(seconds: float) -> str:
    """A readable duration: 1.5 h, 3 min, 20 s."""
    if seconds >= 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"
