"""How long trainings will take: as long as those that there are did, or else by a rule of thumb.

The rule: the steps of an epoch at the robot's speed, and a second and a half for the learner (three for the methods
that descend by Adam), as measured on two cores of an Intel Xeon at 2.5 GHz with epochs of 30 × 1000 steps.
"""

from pathlib import Path

import numpy as np

from ascpo.runs.config import Config
from ascpo.runs.directory import RunDirectory
from ascpo.runs.tables import read_table

_SPEED = {"Point": 15e3, "Swimmer": 4e3, "Drone": 9e3, "Arm3": 15e3, "Humanoid": 1.2e3, "Ant": 3e3, "Walker": 7e3}
"""Steps per second of the environments alone."""
_LEARNER, _DESCENT = 1.5, 3.0
_FULL = 30_000
"""Steps of the epoch that these seconds are of."""
RULE = "a rule of thumb for two cores at 2.5 GHz, or the speed of runs that there are"


class Pace:
    """Seconds an epoch of trainings like one that is asked for, as far as runs in a directory tell."""

    def __init__(self, folder: Path) -> None:
        self._known: dict[tuple[str, ...], list[float]] = {}
        for timing in sorted(folder.glob("*/timing.csv")) if folder.is_dir() else ():
            self._learn(RunDirectory(timing.parent))

    def seconds(self, config: Config, epochs: int | None = None) -> float:
        """Of so many epochs, or of a whole training."""
        return (config.epochs if epochs is None else epochs) * self._of_epoch(config)

    def _of_epoch(self, config: Config) -> float:
        env, algo, engine = config.env, config.algo, config.engine
        steps = config.settings.num_envs * config.settings.horizon
        for key in ((engine, env, algo), (engine, env)):
            if key in self._known:
                return steps * float(np.median(self._known[key]))
        learner = _DESCENT if algo in ("pascpo", "ppo-lagrangian") else _LEARNER
        return steps * (1 / _SPEED.get(env.split("-")[0], 5e3) + learner / _FULL)

    def _learn(self, run: RunDirectory) -> None:
        try:
            config, seconds = run.config(), epoch_seconds(run)
        except (ValueError, OSError):
            return
        if seconds is not None:
            per_step = seconds / (config.settings.num_envs * config.settings.horizon)
            for key in ((config.engine, config.env, config.algo), (config.engine, config.env)):
                self._known.setdefault(key, []).append(per_step)


def epoch_seconds(run: RunDirectory) -> float | None:
    """The median epoch's, without the first two, which compile."""
    if not run.timing.exists():
        return None
    times = read_table(run.timing)
    parts = [column for name, column in times.items() if name.startswith("Time") and name != "TimeSaved"]
    total = np.sum(parts, axis=0)[2:] if parts else np.zeros(0)
    return float(np.median(total)) if len(total) else None


def words(seconds: float) -> str:
    """A duration for a person."""
    if seconds >= 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"
