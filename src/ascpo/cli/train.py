"""`ascpo train`: train a policy, or continue a run, and evaluate it at the end."""

import argparse
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Generic, Literal, TypeVar

import tyro

from ascpo.algorithms import Method
from ascpo.algorithms.presets import PresetName
from ascpo.algorithms.suite_defaults import DECIDING
from ascpo.cli.parsing import parsed, plain_number
from ascpo.cli.settings import show_settings
from ascpo.guard.suites import is_suite, suite
from ascpo.ranges import EpisodeSteps, Range
from ascpo.runs.composition import defaults_for
from ascpo.runs.config import FINAL_POLICY, VALIDATION_EPISODES, Config, based_on, preset_config
from ascpo.runs.directory import NoRun, RunDirectory, config_in, find, free_directories
from ascpo.runs.environment import check_host_options, engine_name, name_of
from ascpo.runs.options import Options
from ascpo.runs.sealed import CHANGEABLE
from ascpo.runs.serialization import BadSetting, differences, whole
from ascpo.runs.source import PolicyKind
from ascpo.runs.trust import trusted
from ascpo.seeding import LATEST, SCHEMES, Version
from ascpo.sweep.seeds import seeds_of
from ascpo.training.settings import Settings

M = TypeVar("M", bound=Method)


def _steps(text: str) -> float:
    """Read a number of steps, for example 6e6."""
    try:
        return float(plain_number(text).replace("_", "").replace(",", ""))
    except ValueError:
        number, unit = text[:-1], {"k": "e3", "m": "e6", "g": "e9", "b": "e9"}.get(text[-1:].lower())
        offer = f"Did you mean {number}{unit}?" if unit and number.replace(".", "").isdigit() else "Try 6e6."
        raise ValueError(f"{text!r} is not a number of steps. {offer}") from None


_STEPS = tyro.constructors.PrimitiveConstructorSpec[float](
    nargs=1,
    metavar="STEPS",
    instance_from_str=lambda words: _steps(words[0]),
    is_instance=lambda value: isinstance(value, (int, float)),
    str_from_instance=lambda steps: [f"{steps:.10g}"],
)


@dataclass(frozen=True)
class Train(Generic[M]):
    """Train a policy that earns a high return and keeps its cost limits.

    The run's directory holds the policy, the log of every epoch, checkpoints, and at the end an evaluation on fresh
    episodes and a report. Next: `ascpo certify RUN` bounds the probability of a violation, and `ascpo replay RUN` shows
    the worst episodes. `ascpo train --resume RUN` continues a run that was stopped. The settings below are those of the
    algorithm that --algo names.
    """

    method: Annotated[M, tyro.conf.arg(name="")]
    env: str = "Point-8-Hazard"
    """The environment: a suite (robot-number-obstacles), a Gymnasium id, or package.module:factory."""
    algo: str = "ascpo"
    """The algorithm. `ascpo list algorithms` lists all of them."""
    preset: PresetName | None = None
    """Start from the settings that the paper states (`published`), or from those of the authors' released code
    (`released`), instead of our defaults. Other flags override the preset."""
    show: bool = False
    """List the settings instead of training: with a preset, those that differ from our defaults, and why; without one,
    all of them."""
    seed: int = 0
    """The seed of everything random. The same seed gives the same numbers."""
    seeds: str = ""
    """Train several seeds at the same time, each in its own directory: 0..7, or 0,3,5."""
    engine: Literal["native", "mjx", "mjx-jax", "mjx-warp"] = "native"
    """What simulates a suite: `native` uses the host's cores, the others use MJX on an accelerator. `mjx` picks the
    implementation that suits the suite and the machine."""
    total_steps: Annotated[float, _STEPS] = 6e6
    """The length of the training, in steps of all environments together."""
    out: Path = Path("runs")
    """The directory in which the run's directory is created."""
    name: str | None = None
    """The name of the run's directory. The default consists of environment, algorithm, preset and seed."""
    resume: tuple[Path, ...] = ()
    """Continue the run in this directory, or several runs at the same time. Only --total-steps and --final-policy may
    be changed."""
    config: Path | None = None
    """Take the settings from the config.json of another run. Flags on the command line override it."""
    trust_env: bool = False
    """With --resume or --config: import and run the code that the run's files name as its environment. Instead, you can
    name the same environment again with --env."""
    seeding: Version = LATEST
    """The version of the rules that draw the scenes of a run from its seed. Give 1 to repeat a run whose config.json
    names no version."""
    max_episode_steps: EpisodeSteps | None = None
    """Truncate the episodes of your own environment after this many steps. By default the environment decides. The run
    keeps the number, also for its evaluations."""
    final_policy: PolicyKind = FINAL_POLICY
    """The run's final policy, in policy.safetensors: `average` is the mean of the parameters over the last epochs
    (--average-epochs), `last` the policy after the last epoch, which is the default of presets. `selected` is the
    best of the last policies on validation scenes. With --resume, this flag gives a run another final policy, also
    after its end."""
    validation_episodes: Annotated[int, Range(at_least=1, at_most=10**6)] = VALIDATION_EPISODES
    """With --final-policy selected: the number of episodes on which each of the last policies is evaluated."""
    evaluate: Annotated[int, Range(at_least=0, at_most=10**7)] = 500
    """Evaluate the final policy on this many fresh episodes. 0 skips the evaluation."""
    options: Annotated[Options, tyro.conf.arg(name="")] = field(default_factory=Options)
    settings: Annotated[Settings, tyro.conf.arg(name="")] = field(default_factory=Settings)

    def as_configs(self) -> list[Config]:
        """One config, or one for each of several seeds."""
        if self.evaluate > (most := SCHEMES[self.seeding].evaluation_episodes):
            raise BadSetting(f"evaluate={self.evaluate}: seeding={self.seeding} has {most} episodes for evaluations.")
        steps, env = whole("total_steps", self.total_steps), name_of(self.env)
        engine = engine_name(self.engine, env)
        first = Config(
            env, self.seed, steps, engine, self.settings, self.method,
            preset=self.preset, seeding=self.seeding, max_episode_steps=self.max_episode_steps,
            final_policy=self.final_policy, validation_episodes=self.validation_episodes,
        )  # fmt: skip
        return [dataclasses.replace(first, seed=seed) for seed in seeds_of(self.seeds)] if self.seeds else [first]

    def names(self, configs: Sequence[Config]) -> list[str]:
        """The names of the runs' directories."""
        if self.name is None or len(configs) == 1:
            return [config.name() if self.name is None else self.name for config in configs]
        return [f"{self.name}-seed{config.seed}" for config in configs]


def main(words: list[str]) -> None:
    asked, directories = parse(words)
    configs = asked.as_configs()
    if asked.show:
        return show_settings(configs[0].refuse_inert())
    if not directories:
        configs = [config.refuse_inert() for config in configs]
        free_directories(asked.out, asked.names(configs))
    _check(configs[0], asked.options)
    from ascpo.cli.trained import train_all

    train_all(asked, configs, directories, words)


def _check(config: Config, options: Options) -> None:
    """Check what the training checks again when it starts. Here the user learns of it before JAX is imported."""
    options.check(config)
    if config.engine == "native":
        check_host_options(config.env, options.threads, options, config.max_episode_steps)
    if is_suite(config.env):
        config.settings.limits_for(suite(config.env).cost_names)


def parse(words: list[str]) -> tuple[Train[Method], list[RunDirectory]]:
    """Parse the command line. Also returns the runs that it continues.

    A first parser reads the flags that decide which others there are, and their defaults. It accepts them without
    values, so that the second one, which knows all flags, says that a value is missing.
    """
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for flag in ("--algo", "--config", "--env", "--preset", "--final-policy"):
        early.add_argument(flag, nargs="?")
    for name in DECIDING:
        early.add_argument(f"--{name.replace('_', '-')}", f"--{name}", dest=name, nargs="?")
    early.add_argument("--resume", nargs="*", default=[])
    given, _ = early.parse_known_args(words)
    directories = [find(Path(path)) for path in given.resume]
    places = [run.path.resolve() for run in directories]
    if twice := [run.path for run, place in zip(directories, places, strict=True) if places.count(place) > 1]:
        raise BadSetting(f"--resume names {twice[0]} twice. Name every run once.")
    if directories:
        base = directories[0].config()
    else:
        if given.preset and given.config:
            raise BadSetting("--preset and --config both set all settings. Give one of them.")
        config = _config_of(Path(given.config)) if given.config else None
        base = _begin(config, given)
    kept = base.validation_episodes if given.final_policy in (None, "selected") else VALIDATION_EPISODES
    default = Train(
        base.method,
        env=base.env,
        algo=base.algo,
        preset=base.preset,
        seed=base.seed,
        engine=base.engine,
        total_steps=base.total_steps,
        settings=base.settings,
        seeding=base.seeding if directories else LATEST,
        max_episode_steps=base.max_episode_steps,
        final_policy=base.final_policy,
        validation_episodes=kept,
    )
    asked = parsed(Train[type(base.method)], words, "ascpo train", default)  # pyrefly: ignore[invalid-annotation]
    if not directories and not given.config and asked.trust_env:
        raise BadSetting("--trust-env is for --resume and --config. The environment of --env is imported anyway.")
    if directories or given.env is None:
        trusted(base.env, given.env, trust_env=asked.trust_env)
    if directories:
        _refuse_changes(base, asked)
    return asked, directories


def _begin(config: Config | None, given: argparse.Namespace) -> Config:
    """The config that a new run starts from: the defaults, a preset, or another run's config."""
    env, algo = given.env or "Point-8-Hazard", given.algo or "ascpo"
    if config is not None:
        return based_on(config, given.env or config.env, given.algo or config.algo)
    if given.preset:
        return preset_config(env, algo, given.preset)
    settings, method = defaults_for(env, algo, {name: value for name in DECIDING if (value := vars(given)[name])})
    return Config(env, settings=settings, method=method)


def _config_of(path: Path) -> Config:
    if path.is_dir():
        return find(path).config()
    if not path.is_file():
        raise NoRun(f"{path} does not exist, or is not a file. --config takes the config.json of a run.")
    return config_in(path)


def _refuse_changes(base: Config, asked: Train[Method]) -> None:
    """Refuse changed settings: a run continues with the settings it started with."""
    if asked.seeds:
        raise BadSetting("--seeds is for new runs. To continue several runs, name their directories after --resume.")
    engine = engine_name(asked.engine, base.env)
    now = Config(
        asked.env, asked.seed, engine=engine, settings=asked.settings, method=asked.method,
        preset=asked.preset, seeding=asked.seeding, max_episode_steps=asked.max_episode_steps,
    )  # fmt: skip
    now = dataclasses.replace(now, **{name: getattr(base, name) for name in CHANGEABLE})
    changed = {"algo": (base.algo, asked.algo)} if asked.algo != base.algo else differences(base, now)
    for name, (before, after) in changed.items():
        raise BadSetting(
            f"{name} is {before} in this run, and you asked for {after}. A run continues with the settings it started "
            f"with. For other settings, start a new run with --config {asked.resume[0]}."
        )
