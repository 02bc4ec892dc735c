"""Begin a run, or go on with one: the Python face of training.

A run that was stopped, by whatever, goes on from its last checkpoint, and ends with the same metrics and the same
policy, bit for bit, as if it had never been stopped.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ascpo.engines.rollout import Engine
from ascpo.runs.callbacks.callback import Watcher
from ascpo.runs.compilation_cache import keep_compiled_programs
from ascpo.runs.config import Config, configure
from ascpo.runs.device_memory import check_room
from ascpo.runs.directory import RunDirectory, create, find
from ascpo.runs.environment import Environment, engine_name, name_of, open_engine, open_mjx
from ascpo.runs.serialization import BadSetting, changed
from ascpo.runs.tables import read_table
from ascpo.runs.trained_policy import TrainedPolicy, load
from ascpo.runs.trainer import Seat, check_company, check_engine, conduct, learner_of


@dataclass(frozen=True)
class Options:
    """What changes no number of a run."""

    threads: int = 0
    """Threads of the simulator, 0 for one per core."""
    devices: int = 1
    """Accelerators that share the environments, 0 for all that there are. Sums are then taken in another order."""
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
        if self.devices < 0:
            raise BadSetting(f"devices={self.devices}: ask for at least one, or for 0, which are all.")
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
    def policy(self) -> TrainedPolicy:
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
    config = configure(name_of(env), algo, seed=seed, total_steps=total_steps, **_with_engine(chosen, env))
    return launch([config], env, options, out=Path(out), names=[name])[0]


def train_together(
    env: Environment,
    algos: Sequence[str] = ("ascpo",),
    *,
    seeds: Sequence[int] = (0,),
    total_steps: float = 6e6,
    out: str | Path = "runs",
    **chosen: Any,
) -> list[Result]:
    """Train from several seeds, and by several algorithms, at once: each as if it were alone, with its own directory.

    Everything else is as in `train`, and the same for all.
    """
    options, chosen = _options(chosen)
    chosen = _with_engine(chosen, env)
    configs = [
        configure(name_of(env), algo, seed=seed, total_steps=total_steps, **chosen) for algo in algos for seed in seeds
    ]
    return launch(configs, env, options, out=Path(out))


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
    return relaunch([Seat(longer, directory)], env or config.env, options)[0]


def launch(
    configs: Sequence[Config],
    env: Environment,
    options: Options,
    *,
    out: Path,
    names: Sequence[str | None] = (),
) -> list[Result]:
    """New runs, trained together if they are several."""
    names = [name or config.name() for name, config in zip(names or [None] * len(configs), configs, strict=True)]
    if len(set(names)) < len(names):
        raise BadSetting(f"{next(name for name in names if names.count(name) > 1)} was asked for twice.")
    seats = [Seat(config, RunDirectory(out / name)) for config, name in zip(configs, names, strict=True)]
    for seat in seats:
        seat.directory.check_free()
    return relaunch(seats, env, options)


def relaunch(
    seats: Sequence[Seat], env: Environment, options: Options, watchers: Sequence[Watcher] = ()
) -> list[Result]:
    """Runs, trained together if they are several: those there are go on from their last checkpoints, others begin.

    What can be wrong is found before anything is written.
    """
    keep_compiled_programs()
    configs = [seat.config for seat in seats]
    check_company(configs)
    with _opened(env, configs[0], options, len(seats)) as engine:
        check_engine(engine, len(seats))
        check_room([learner_of(config, engine) for config in configs], options.devices)
        shown = _watchers(options, [seat.directory.path for seat in seats])
        for seat in seats:
            if not seat.directory.config_file.exists():
                create(seat.directory.path.parent, seat.config, seat.directory.path.name)
        return _conducted(seats, env, options, [*shown, *watchers], engine)


def _conducted(
    seats: Sequence[Seat], env: Environment, options: Options, watchers: Sequence[Watcher], engine: Engine
) -> list[Result]:
    @contextlib.contextmanager
    def opened(runs: int) -> Iterator[Engine]:
        if runs == len(seats):
            yield engine
        else:
            with _opened(env, seats[0].config, options, runs) as smaller:
                yield smaller

    conduct(seats, opened, options.checkpoint_every, watchers)
    return [Result(seat.directory.path) for seat in seats]


@contextlib.contextmanager
def _opened(env: Environment, config: Config, options: Options, runs: int) -> Iterator[Engine]:
    """Environments for so many runs."""
    num_envs = config.settings.num_envs
    if config.engine == "native":
        engine: Engine = open_engine(env, num_envs * runs, threads=options.threads, processes=options.processes)
    else:
        engine = open_mjx(env, num_envs, config.engine, options.devices)
    try:
        yield engine
    finally:
        engine.close()


def _with_engine(chosen: dict[str, Any], env: Environment) -> dict[str, Any]:
    return chosen | {"engine": engine_name(chosen.get("engine", "native"), env)}


def configure_length(config: Config, total_steps: float) -> Config:
    """The same run, longer or shorter."""
    return dataclasses.replace(config, total_steps=configure(config.env, total_steps=total_steps).total_steps)


def _options(chosen: dict[str, Any]) -> tuple[Options, dict[str, Any]]:
    names = {f.name for f in dataclasses.fields(Options)}
    mine = {name: value for name, value in chosen.items() if name in names}
    return changed(Options(), mine), {name: value for name, value in chosen.items() if name not in names}


def _watchers(options: Options, directories: Sequence[Path]) -> list[Watcher]:
    from ascpo.runs.callbacks.display import Display
    from ascpo.runs.callbacks.tensorboard import TensorBoard

    shown: list[Watcher] = [Display()] if options.progress else []
    return [*shown, *(TensorBoard(path) for path in directories)] if options.tensorboard else shown
