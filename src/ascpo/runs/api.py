"""Train from Python: start runs, or continue them.

A run that was stopped continues from its last checkpoint. It ends with the same metrics and the same policy, bit for
bit, as if it had never been stopped.
"""

import dataclasses
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ascpo.algorithms.presets import PresetName
from ascpo.engines.contract import Engine, EpisodePlayer
from ascpo.ranges import Range, Threads, check
from ascpo.runs.active_run import Run, agent_of
from ascpo.runs.callbacks.callback import Callback
from ascpo.runs.compilation_cache import keep_compiled_programs
from ascpo.runs.config import VALIDATION_EPISODES, Config, configure, configure_each
from ascpo.runs.device_memory import check_memory
from ascpo.runs.directory import RunDirectory, check_name, create, find
from ascpo.runs.environment import Environment, engine_name, name_of, open_engine, open_mjx, side_by_side
from ascpo.runs.host_memory import check_host_memory
from ascpo.runs.hosting import Hosting
from ascpo.runs.selection import Selection
from ascpo.runs.serialization import BadSetting, Plain, changed, only
from ascpo.runs.source import HandOut
from ascpo.runs.tables import read_table
from ascpo.runs.trained_policy import TrainedPolicy, load
from ascpo.runs.trainer import check_can_share, train_runs
from ascpo.runs.trust import trusted

_PROCESSES = 1024
"""The most processes that environments run in."""


@dataclass(frozen=True)
class Options(Hosting):
    """Options that change no number of a run."""

    threads: Threads = 0
    """Number of threads that simulate a suite with the native engine. 0 uses one per core."""
    devices: Annotated[int, Range(at_least=0, at_most=10**6)] = 1
    """Number of accelerators that share the environments of an MJX engine. 0 uses all of them. With several, sums are
    taken in another order, so that results differ by rounding."""
    checkpoint_every: Annotated[float, Range(at_least=0.0, at_most=1e12)] = 60.0
    """Seconds between two checkpoints. 0 writes one after every epoch."""
    tensorboard: bool = False
    """Also write the metrics as files for TensorBoard."""
    progress: bool = True
    """Show the progress of the training."""

    def __post_init__(self) -> None:
        check(self)
        super().__post_init__()

    def check(self, config: Config) -> None:
        """Refuse options that this run's engine does not have."""
        if config.engine == "native" and self.devices != 1:
            raise BadSetting(f"devices={self.devices} is for --engine mjx. The native engine runs on the host.")
        if self.processes and config.settings.num_envs > _PROCESSES:
            raise BadSetting(
                f"processes=True starts a process for each of num_envs={config.settings.num_envs} environments. Use at "
                f"most {_PROCESSES}."
            )
        if config.engine != "native" and (self.threads or self.processes):
            name = "threads" if self.threads else "processes"
            raise BadSetting(f"{name}={getattr(self, name)} is for --engine native. {config.engine} does not use it.")


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
        """The policy that the run hands out, ready to act."""
        return load(self.directory)


def train(
    env: Environment,
    algo: str = "ascpo",
    *,
    preset: PresetName | None = None,
    seed: int = 0,
    total_steps: float = 6e6,
    out: str | Path = "runs",
    name: str | None = None,
    **chosen: Any,
) -> Result:
    """Train a policy on a suite, a Gymnasium id, or a factory of environments.

    All other arguments are settings by their names: those of `Options`, of `Settings`, and the algorithm's own. They
    replace what a preset says.
    """
    options, chosen = _options(chosen)
    chosen = _with_engine(chosen, env)
    config = configure(name_of(env), algo, preset=preset, seed=seed, total_steps=total_steps, **chosen)
    return launch([config], env, options, out=Path(out), names=[name])[0]


def train_many(
    env: Environment,
    algos: Sequence[str] = ("ascpo",),
    *,
    preset: PresetName | None = None,
    seeds: Sequence[int] = (0,),
    total_steps: float = 6e6,
    out: str | Path = "runs",
    **chosen: Any,
) -> list[Result]:
    """Train every algorithm from every seed, all at the same time. Each run has its own directory.

    All other arguments are as in `train`. Each algorithm takes the settings that act on it.
    """
    options, chosen = _options(chosen)
    chosen = _with_engine(chosen, env) | {"total_steps": total_steps, "preset": preset}
    configs = configure_each(name_of(env), algos, seeds, chosen)
    return launch(configs, env, options, out=Path(out))


train_together = train_many
"""An earlier name of `train_many`, kept for scripts that use it."""


def resume(
    run: str | Path,
    *,
    env: Environment | None = None,
    trust_env: bool = False,
    total_steps: float | None = None,
    hand_out: HandOut | None = None,
    validation_episodes: int | None = None,
    **chosen: Any,
) -> Result:
    """Continue a run that was stopped, make it longer, or let it hand out another policy.

    A run of an environment outside this package needs `env`, or `trust_env` to import and run what its files name.
    """
    options, rest = _options(chosen)
    directory = find(Path(run))
    config = directory.config()
    if rest:
        raise BadSetting(f"{next(iter(rest))} cannot be changed: a run continues with the settings it started with.")
    longer = config if total_steps is None else with_length(config, total_steps)
    if hand_out is not None or validation_episodes is not None:
        longer = handing_out(longer, hand_out or config.hand_out, validation_episodes)
    return relaunch([Run(longer, directory)], trusted(config.env, env, trust_env=trust_env), options)[0]


def launch(
    configs: Sequence[Config], env: Environment, options: Options, *, out: Path, names: Sequence[str | None] = ()
) -> list[Result]:
    """Train new runs, all at the same time."""
    given = zip(names or [None] * len(configs), configs, strict=True)
    names = [check_name(config.name() if name is None else name) for name, config in given]
    if len(set(names)) < len(names):
        raise BadSetting(f"{next(name for name in names if names.count(name) > 1)} is given twice.")
    runs = [Run(config, RunDirectory(out / name)) for config, name in zip(configs, names, strict=True)]
    for run in runs:
        run.directory.check_free()
    return relaunch(runs, env, options)


def relaunch(
    runs: Sequence[Run], env: Environment, options: Options, callbacks: Sequence[Callback] = ()
) -> list[Result]:
    """Train runs, all at the same time. Those that exist continue from their last checkpoints, the others start.

    Mistakes are found before anything is written.
    """
    keep_compiled_programs()
    configs = [run.config for run in runs]
    check_can_share(configs)
    options.check(configs[0])
    check_host_memory(configs, env)
    with _engine_for(len(runs), env, configs[0], options) as engine:
        if engine.max_runs is not None and len(runs) > engine.max_runs:
            raise BadSetting("Your own environments train one seed at a time. Use --seed instead of --seeds.")
        check_memory([agent_of(config, engine) for config in configs], options.devices)
        callbacks = [*_callbacks(options, [run.directory.path for run in runs]), *callbacks]
        for run in runs:
            if not run.directory.config_file.exists():
                create(run.directory.path.parent, run.config, run.directory.path.name)
        smaller = partial(_engine_for, env=env, config=configs[0], options=options)
        selection = Selection(partial(_player_for, env, options), progress=options.progress)
        train_runs(runs, engine, smaller, selection, options.checkpoint_every, callbacks)
    return [Result(run.directory.path) for run in runs]


def _engine_for(runs: int, env: Environment, config: Config, options: Options) -> AbstractContextManager[Engine]:
    num_envs = config.settings.num_envs
    if config.engine == "native":
        engine: Engine = open_engine(
            env,
            num_envs * runs,
            threads=options.threads,
            hosting=options,
            limits=config.settings.limits,
            max_episode_steps=config.max_episode_steps,
        )
    else:
        engine = open_mjx(env, num_envs, config.engine, options.devices)
    return closing(engine)


def _player_for(env: Environment, options: Options, config: Config) -> AbstractContextManager[EpisodePlayer]:
    """Environments on the host, as for an evaluation: whatever simulated the training."""
    player = open_engine(
        env,
        side_by_side(config.env, config.validation_episodes),
        threads=options.threads,
        hosting=options,
        limits=config.settings.limits,
        max_episode_steps=config.max_episode_steps,
    )
    return closing(player)


def _with_engine(chosen: Plain, env: Environment) -> Plain:
    return chosen | {"engine": engine_name(chosen.get("engine", "native"), env)}


def with_length(config: Config, total_steps: float) -> Config:
    """The same run, longer or shorter."""
    return dataclasses.replace(config, total_steps=configure(config.env, total_steps=total_steps).total_steps)


def handing_out(config: Config, hand_out: HandOut, validation_episodes: int | None = None) -> Config:
    """The same run, with another policy at its end."""
    known = config.validation_episodes if hand_out == "selected" else VALIDATION_EPISODES
    episodes = known if validation_episodes is None else validation_episodes
    return dataclasses.replace(config, hand_out=hand_out, validation_episodes=episodes)


def _options(chosen: Plain) -> tuple[Options, Plain]:
    """The options among the settings, and the others."""
    mine = only(chosen, Options)
    return changed(Options(), mine), {name: value for name, value in chosen.items() if name not in mine}


def _callbacks(options: Options, directories: Sequence[Path]) -> list[Callback]:
    from ascpo.runs.callbacks.display import Display
    from ascpo.runs.callbacks.tensorboard import TensorBoard

    shown: list[Callback] = [Display()] if options.progress else []
    return [*shown, *(TensorBoard(path) for path in directories)] if options.tensorboard else shown
