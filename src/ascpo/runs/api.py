"""Training from Python: start runs, or continue them.

A run that was stopped continues from its last checkpoint. Its metrics and its policy are the same, bit for bit, as
those of a run without a stop.
"""

import dataclasses
import shlex
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path
from typing import Unpack

from ascpo.algorithms.presets import PresetName
from ascpo.engines.contract import Engine, EpisodePlayer
from ascpo.runs.active_run import Run, agent_of
from ascpo.runs.callbacks.callback import Callback
from ascpo.runs.compilation import set_up_compilation
from ascpo.runs.config import VALIDATION_EPISODES, Config, configure, configure_each
from ascpo.runs.device_memory import check_memory
from ascpo.runs.directory import create, find, free_directories
from ascpo.runs.environment import Environment, engine_name, name_of, num_envs_for, open_engine, open_mjx
from ascpo.runs.host_memory import check_host_memory
from ascpo.runs.keywords import OptionKeywords, TrainKeywords
from ascpo.runs.options import Options
from ascpo.runs.result import Result
from ascpo.runs.selection import Selection
from ascpo.runs.serialization import BadSetting, Plain, changed, only, whole
from ascpo.runs.source import PolicyKind
from ascpo.runs.tables import read_rows
from ascpo.runs.time_limits import timeout_hint
from ascpo.runs.trainer import check_can_share, train_runs
from ascpo.runs.trust import trusted

__all__ = ["Options", "Result", "launch", "relaunch", "resume", "train", "train_many", "train_together"]


class OneRunAtATime(BadSetting):
    """Several runs for an engine that trains one. Nothing was written yet."""


def train(
    env: Environment,
    algo: str = "ascpo",
    *,
    preset: PresetName | None = None,
    seed: int = 0,
    total_steps: float = 6e6,
    out: str | Path = "runs",
    name: str | None = None,
    callbacks: Sequence[Callback] = (),
    **settings: Unpack[TrainKeywords],
) -> Result:
    """Train a policy on a suite, a Gymnasium id, or a factory of environments.

    All other arguments are settings by their names: those of `Options`, of `Settings`, and the algorithm's own. They
    override those of a preset. Callbacks are called after every epoch, and may stop the training.
    """
    options, chosen = _options(dict(settings))
    chosen = _with_engine(chosen, env)
    config = configure(name_of(env), algo, preset=preset, seed=seed, total_steps=total_steps, **chosen)
    return launch([config], env, options, out=Path(out), names=[name], callbacks=callbacks)[0]


def train_many(
    env: Environment,
    algos: Sequence[str] = ("ascpo",),
    *,
    preset: PresetName | None = None,
    seeds: Sequence[int] = (0,),
    total_steps: float = 6e6,
    out: str | Path = "runs",
    callbacks: Sequence[Callback] = (),
    **settings: Unpack[TrainKeywords],
) -> list[Result]:
    """Train every algorithm with every seed at the same time. Each run has its own directory.

    All other arguments are those of `train`. Each algorithm takes the settings that it has.
    """
    options, chosen = _options(dict(settings))
    chosen = _with_engine(chosen, env) | {"total_steps": total_steps, "preset": preset}
    configs = configure_each(name_of(env), algos, seeds, chosen)
    return launch(configs, env, options, out=Path(out), callbacks=callbacks)


train_together = train_many
"""An earlier name of `train_many`, kept for scripts that use it."""


def resume(
    run: str | Path,
    *,
    env: Environment | None = None,
    trust_env: bool = False,
    total_steps: float | None = None,
    final_policy: PolicyKind | None = None,
    validation_episodes: int | None = None,
    callbacks: Sequence[Callback] = (),
    **chosen: Unpack[OptionKeywords],
) -> Result:
    """Continue a run that was stopped, make it longer, or give it another final policy.

    A run of an environment outside this package needs `env`, or `trust_env` to import and run what its files name.
    Callbacks get the earlier epochs of the run, too.
    """
    options, rest = _options(dict(chosen))
    directory = find(Path(run))
    config = directory.config()
    if rest:
        raise BadSetting(f"{next(iter(rest))} cannot be changed: a run continues with the settings it started with.")
    longer = config if total_steps is None else with_length(config, total_steps)
    if final_policy is not None or validation_episodes is not None:
        longer = with_final_policy(longer, final_policy or config.final_policy, validation_episodes)
    opened = trusted(config.env, env, trust_env=trust_env)
    return relaunch([Run(longer, directory)], opened, options, callbacks)[0]


def launch(
    configs: Sequence[Config],
    env: Environment,
    options: Options,
    *,
    out: Path,
    names: Sequence[str | None] = (),
    callbacks: Sequence[Callback] = (),
) -> list[Result]:
    """Train new runs, all at the same time."""
    given = zip(names or [None] * len(configs), configs, strict=True)
    directories = free_directories(out, [config.name() if name is None else name for name, config in given])
    return relaunch([Run(*run) for run in zip(configs, directories, strict=True)], env, options, callbacks)


def relaunch(
    runs: Sequence[Run], env: Environment, options: Options, callbacks: Sequence[Callback] = ()
) -> list[Result]:
    """Train runs at the same time. Existing ones continue from their last checkpoints, and the others start.

    Arguments are checked before anything is written.
    """
    set_up_compilation()
    configs = [run.config for run in runs]
    check_can_share(configs)
    options.check(configs[0])
    check_host_memory(configs, env)
    with _engine_for(len(runs), env, configs[0], options) as engine:
        if engine.max_runs is not None and len(runs) > engine.max_runs:
            raise OneRunAtATime("Your own environments train one seed at a time. Use --seed instead of --seeds.")
        check_memory([agent_of(config, engine) for config in configs], options.devices)
        callbacks = [*_callbacks(options, [run.directory.path for run in runs]), *callbacks]
        for run in runs:
            if not run.directory.config_file.exists():
                create(run.directory.path.parent, run.config, run.directory.path.name)
        smaller = partial(_engine_for, env=env, config=configs[0], options=options)
        selection = Selection(partial(_player_for, env, options), progress=options.progress)
        finished = train_runs(runs, engine, smaller, selection, options.checkpoint_every, callbacks)
    if options.progress:
        _say_end(runs, finished=finished)
    return [Result(run.directory.path) for run in runs]


def _say_end(runs: Sequence[Run], *, finished: bool) -> None:
    """Print what the user should know at the end of a training."""
    if not finished:
        names = " ".join(shlex.quote(str(run.directory.path)) for run in runs)
        print(f"A callback has stopped the training. To train the rest: ascpo train --resume {names}")
    for run in runs:
        rates = [row["TimeoutRate"] for row in read_rows(run.directory.metrics)]
        if hint := timeout_hint(run.config, rates):
            print(f"{run.directory.path.name}: {hint}")


def _engine_for(runs: int, env: Environment, config: Config, options: Options) -> AbstractContextManager[Engine]:
    num_envs = config.settings.num_envs
    if config.engine == "native":
        return closing(_open_on_host(env, num_envs * runs, config, options))
    return closing(open_mjx(env, num_envs, config.engine, options.devices))


def _player_for(env: Environment, options: Options, config: Config) -> AbstractContextManager[EpisodePlayer]:
    """Environments on the host for an evaluation, which do not depend on the engine of the training."""
    return closing(_open_on_host(env, num_envs_for(config.env, config.validation_episodes), config, options))


def _open_on_host(env: Environment, num_envs: int, config: Config, options: Options) -> EpisodePlayer:
    return open_engine(
        env,
        num_envs,
        threads=options.threads,
        hosting=options,
        limits=config.settings.limits,
        max_episode_steps=config.max_episode_steps,
    )


def _with_engine(chosen: Plain, env: Environment) -> Plain:
    return chosen | {"engine": engine_name(chosen.get("engine", "native"), env)}


def with_length(config: Config, total_steps: float) -> Config:
    """The same config with another length."""
    return dataclasses.replace(config, total_steps=whole("total_steps", total_steps))


def with_final_policy(config: Config, final_policy: PolicyKind, validation_episodes: int | None = None) -> Config:
    """The same config, with another final policy."""
    known = config.validation_episodes if final_policy == "selected" else VALIDATION_EPISODES
    episodes = known if validation_episodes is None else validation_episodes
    return dataclasses.replace(config, final_policy=final_policy, validation_episodes=episodes)


def _options(chosen: Plain) -> tuple[Options, Plain]:
    """The options among the settings, and the others."""
    mine = only(chosen, Options)
    return changed(Options(), mine), {name: value for name, value in chosen.items() if name not in mine}


def _callbacks(options: Options, directories: Sequence[Path]) -> list[Callback]:
    from ascpo.runs.callbacks.display import Display
    from ascpo.runs.callbacks.mlflow import MLflow
    from ascpo.runs.callbacks.tensorboard import TensorBoard
    from ascpo.runs.callbacks.wandb import WeightsAndBiases

    found: list[Callback] = [Display()] if options.progress else []
    wanted = ((options.tensorboard, TensorBoard), (options.wandb, WeightsAndBiases), (options.mlflow, MLflow))
    return found + [logger(path) for asked, logger in wanted if asked for path in directories]
