"""Begin a run, or go on with one: the Python face of training.

A run that was stopped, by whatever, goes on from its last checkpoint, and ends with the same metrics and the same
policy, bit for bit, as if it had never been stopped.
"""

import contextlib
import dataclasses
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ascpo.engines.rollout import Engine
from ascpo.runs.checkpoints import BadCheckpoint, Checkpoints
from ascpo.runs.compiled import keep_compiled_programs
from ascpo.runs.config import Config, configure
from ascpo.runs.directory import RunDirectory, create, find, write_whole
from ascpo.runs.environment import Environment, name_of, open_engine
from ascpo.runs.plain import BadSetting, changed
from ascpo.runs.policy import Pilot, load, save_policy
from ascpo.runs.stopping import Stopping
from ascpo.runs.tables import Table, read_table
from ascpo.runs.watching import Plan, Watcher
from ascpo.training.learner import Learner
from ascpo.training.train import Standing, begin, go_on, make_learner


@dataclass(frozen=True)
class Options:
    """What changes no number of a run."""

    threads: int = 0
    """Threads of the simulator, 0 for one per core."""
    processes: bool = False
    """Put your own environments into processes of their own: it pays if a step takes long."""
    checkpoint_every: float = 60.0
    """Seconds between checkpoints; 0 for one after every epoch."""
    tensorboard: bool = False
    """Write files for TensorBoard too."""
    progress: bool = True
    """Show how far it is."""

    def __post_init__(self) -> None:
        if self.threads < 0:
            raise BadSetting(f"threads={self.threads}: ask for at least one, or for 0, which is one per core.")
        if not self.checkpoint_every >= 0:
            raise BadSetting(f"checkpoint_every={self.checkpoint_every} must be at least 0 seconds.")


@dataclass(frozen=True)
class Result:
    """What a run has left behind."""

    directory: Path

    @cached_property
    def history(self) -> dict[str, np.ndarray]:
        """The columns of `metrics.csv`."""
        return read_table(RunDirectory(self.directory).metrics)

    @cached_property
    def policy(self) -> Pilot:
        """The last policy, ready to act."""
        return load(self.directory)


def train(
    env: Environment,
    algo: str = "ascpo",
    *,
    seed: int = 0,
    total_steps: float = 6e6,
    out: str | Path = "runs",
    name: str | None = None,
    **chosen: Any,
) -> Result:
    """Train a policy on a suite, a Gymnasium id, or a factory of environments.

    Everything else is a setting by its name: those of `Options`, of `Settings`, and the algorithm's own.
    """
    options, chosen = _options(chosen)
    config = configure(name_of(env), algo, seed=seed, total_steps=total_steps, **chosen)
    return launch(config, env, options, out=Path(out), name=name)


def resume(
    run: str | Path, *, env: Environment | None = None, total_steps: float | None = None, **chosen: Any
) -> Result:
    """Go on with a run that was stopped, or make one longer. `env` is needed if its name alone does not find it."""
    options, rest = _options(chosen)
    directory = find(Path(run))
    config = directory.config()
    if rest:
        raise BadSetting(f"{next(iter(rest))} cannot be changed: a run goes on with the settings it began with.")
    if env is None and "<" in config.env:
        raise BadSetting(f"{config.env} cannot be found again by its name. Give it: ascpo.resume(run, env=...).")
    longer = config if total_steps is None else configure_length(config, total_steps)
    return relaunch(directory, longer, env or config.env, options)


def launch(config: Config, env: Environment, options: Options, *, out: Path, name: str | None = None) -> Result:
    """A new run. What can be wrong is found before anything is written."""
    keep_compiled_programs()
    with _engine(env, config, options) as engine:
        make_learner(engine, config.algorithm(), config.settings)
        watchers = _watchers(options, out / (name or config.name()))
        directory = create(out, config, name)
        return _conduct(directory, config, engine, options, watchers)


def relaunch(directory: RunDirectory, config: Config, env: Environment, options: Options) -> Result:
    """A run that there is, from its last checkpoint on."""
    keep_compiled_programs()
    with _engine(env, config, options) as engine:
        watchers = _watchers(options, directory.path)
        return _conduct(directory, config, engine, options, watchers)


def configure_length(config: Config, total_steps: float) -> Config:
    """The same run, longer or shorter."""
    return dataclasses.replace(config, total_steps=configure(config.env, total_steps=total_steps).total_steps)


def _options(chosen: dict[str, Any]) -> tuple[Options, dict[str, Any]]:
    names = {f.name for f in dataclasses.fields(Options)}
    mine = {name: value for name, value in chosen.items() if name in names}
    return changed(Options(), mine), {name: value for name, value in chosen.items() if name not in names}


@contextlib.contextmanager
def _engine(env: Environment, config: Config, options: Options) -> Iterator[Engine]:
    engine = open_engine(env, config.settings.num_envs, threads=options.threads, processes=options.processes)
    try:
        yield engine
    finally:
        engine.close()


def _watchers(options: Options, directory: Path) -> list[Watcher]:
    from ascpo.runs.display import Display
    from ascpo.runs.tensorboard import TensorBoard

    shown: list[Watcher] = [Display()] if options.progress else []
    return [*shown, TensorBoard(directory)] if options.tensorboard else shown


def _conduct(
    directory: RunDirectory, config: Config, engine: Engine, options: Options, watchers: list[Watcher]
) -> Result:
    """Train to the end, epoch by epoch. Whatever ends it early, the epochs that were finished are saved."""
    with directory.locked(), Stopping() as stopping:
        learner = make_learner(engine, config.algorithm(), config.settings)
        files = _Files(directory, config, engine, learner, options.checkpoint_every)
        with stopping.work():
            standing = files.standing(begin(engine, learner, config.seed, config.epochs))
            if standing.epochs:
                engine.restore(standing.engine)
        limits = dict(zip(engine.cost_names, learner.limits, strict=True))
        plan = Plan(config, directory.path, standing.epochs, learner.algorithm.words, limits, engine.remarks)
        epochs = go_on(engine, learner, standing, config.epochs)
        try:
            for watcher in watchers:
                watcher.begin(plan)
            while standing.epochs < config.epochs:
                with stopping.work():
                    epoch = next(epochs)
                standing = epoch.standing
                timing = files.write(epoch.row, epoch.timing)
                for watcher in watchers:
                    watcher.epoch(epoch.row, timing)
                files.save_if_due(standing)
        except BadCheckpoint:
            raise
        except BaseException:
            files.save(standing)
            raise
        else:
            files.save(standing)
        finally:
            for watcher in watchers:
                watcher.end()
            files.close()
    return Result(directory.path)


@dataclass
class _Files:
    """A run's files, kept in step with each other."""

    directory: RunDirectory
    config: Config
    engine: Engine
    learner: Learner
    every: float
    _saved: int = field(default=0, init=False)
    """Epochs of the last checkpoint."""

    def __post_init__(self) -> None:
        self._checkpoints = Checkpoints(self.directory.checkpoints, self.config.fingerprint)
        self._since = time.perf_counter()
        self._spent = 0.0

    def standing(self, at_the_start: Standing) -> Standing:
        """Where to begin: the last checkpoint, or the start. Tables are cut back to there."""
        standing = self._checkpoints.load(at_the_start) if self._checkpoints.epochs() else at_the_start
        if standing.epochs > self.config.epochs:
            raise BadSetting(
                f"{self.directory.path} is {standing.epochs} epochs long already, and {self.config.epochs} were asked "
                f"for. Ask for more --total-steps."
            )
        write_whole(self.directory.config_file, self.config.to_json())
        self._saved = standing.epochs
        self._metrics = Table(self.directory.metrics, standing.epochs)
        self._timing = Table(self.directory.timing, standing.epochs)
        before = read_table(self.directory.timing)["WallClock"] if standing.epochs else [0.0]
        self._began = time.perf_counter() - float(before[-1])
        if standing.epochs:
            self._save_policy(standing)
        return standing

    def write(self, row: dict[str, float], timing: dict[str, float]) -> dict[str, float]:
        """An epoch's rows."""
        began = time.perf_counter()
        timing = timing | {"TimeSaved": self._spent, "WallClock": began - self._began}
        self._metrics.write(row)
        self._timing.write(timing)
        self._spent = time.perf_counter() - began
        return timing

    def save_if_due(self, standing: Standing) -> None:
        if time.perf_counter() - self._since >= self.every:
            self.save(standing)

    def save(self, standing: Standing) -> None:
        """Checkpoint and policy, unless they are saved already."""
        if standing.epochs == self._saved:
            return
        began = time.perf_counter()
        self._checkpoints.save(standing)
        self._save_policy(standing)
        self._saved, self._since = standing.epochs, time.perf_counter()
        self._spent += self._since - began

    def _save_policy(self, standing: Standing) -> None:
        acting = self.learner.acting(standing.state)
        save_policy(self.directory.policy, self.config, self.engine, acting, standing.epochs)

    def close(self) -> None:
        self._metrics.close()
        self._timing.close()
        self._checkpoints.close()
