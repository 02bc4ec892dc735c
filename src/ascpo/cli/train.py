"""`ascpo train`: train a policy, or go on with a run, and judge it at the end."""

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

import tyro

from ascpo.algorithms import Method
from ascpo.cli.show import judged
from ascpo.runs.api import Options, Result, launch, relaunch
from ascpo.runs.config import Config, method_class
from ascpo.runs.directory import NoRun, RunDirectory, find
from ascpo.runs.environment import engine_name, name_of
from ascpo.runs.serialization import BadSetting, flat, to_plain
from ascpo.runs.stopping import Stopped
from ascpo.runs.trainer import Seat
from ascpo.training.settings import Settings

M = TypeVar("M", bound=Method)


def _steps(text: str) -> float:
    """A number of steps as people write it."""
    try:
        return float(text.replace("_", "").replace(",", ""))
    except ValueError:
        number, unit = text[:-1], {"k": "e3", "m": "e6", "g": "e9", "b": "e9"}.get(text[-1:].lower())
        offer = f"Did you mean {number}{unit}?" if unit and number.replace(".", "").isdigit() else "Try 6e6."
        raise ValueError(f"{text!r} is no number of steps. {offer}") from None


_STEPS = tyro.constructors.PrimitiveConstructorSpec[float](
    nargs=1,
    metavar="STEPS",
    instance_from_str=lambda words: _steps(words[0]),
    is_instance=lambda value: isinstance(value, (int, float)),
    str_from_instance=lambda steps: [f"{steps:.10g}"],
)


@dataclass(frozen=True)
class Train(Generic[M]):
    """Train a policy. The settings below are those of the algorithm chosen by --algo."""

    method: Annotated[M, tyro.conf.arg(name="")]
    env: str = "Point-8-Hazard"
    """A suite (robot-number-obstacles), a Gymnasium id, or package.module:factory."""
    algo: str = "ascpo"
    """One of those that `ascpo list algorithms` shows."""
    seed: int = 0
    """The same seed, the same numbers."""
    seeds: str = ""
    """Several at once, each as if it were alone: 0..7, or 0,3,5."""
    engine: Literal["native", "mjx", "mjx-jax", "mjx-warp"] = "native"
    """What moves a suite's robots: the host's cores, or MJX on an accelerator (mjx takes what suits it best)."""
    total_steps: Annotated[float, _STEPS] = 6e6
    """Steps of all environments together."""
    out: Path = Path("runs")
    """Where the run's directory goes."""
    name: str | None = None
    """What it is called; made of environment, algorithm and seed if not given."""
    resume: tuple[Path, ...] = ()
    """Go on with the run in this directory, or with several that are trained together. Only --total-steps may be
    changed."""
    config: Path | None = None
    """Take the settings from the config.json of another run; what else is given here goes before."""
    evaluate: int = 500
    """Fresh episodes to judge the last policy with; 0 for none."""
    options: Annotated[Options, tyro.conf.arg(name="")] = field(default_factory=Options)
    settings: Annotated[Settings, tyro.conf.arg(name="")] = field(default_factory=Settings)

    def __post_init__(self) -> None:
        if self.evaluate < 0:
            raise BadSetting(f"evaluate={self.evaluate}: ask for some episodes, or for 0.")

    def as_configs(self) -> list[Config]:
        """One, or one for each of several seeds."""
        if self.total_steps != self.total_steps // 1:
            raise BadSetting(f"total_steps={self.total_steps} must be a whole number.")
        env = name_of(self.env)
        first = Config(
            env=env,
            algo=self.algo,
            seed=self.seed,
            total_steps=int(self.total_steps),
            engine=engine_name(self.engine, env),
            settings=self.settings,
            method=self.method,
        )
        return [dataclasses.replace(first, seed=seed) for seed in seeds_of(self.seeds)] if self.seeds else [first]

    def names(self, configs: Sequence[Config]) -> list[str]:
        """Of their directories."""
        if self.name is None or len(configs) == 1:
            return [self.name or config.name() for config in configs]
        return [f"{self.name}-seed{config.seed}" for config in configs]


def seeds_of(text: str) -> list[int]:
    """`0..7` are eight seeds, `0,3,5` are three."""
    try:
        parts = [[int(end) for end in part.split("..")] for part in text.split(",")]
    except ValueError:
        parts = []
    seeds = [seed for part in parts for seed in range(part[0], part[-1] + 1)]
    if not seeds or any(len(part) > 2 for part in parts):
        raise BadSetting(f"--seeds {text} is no list of seeds. Try 0..7, or 0,3,5.")
    return list(dict.fromkeys(seeds))


def main(words: list[str]) -> None:
    wanted, directories = parse(words)
    configs = wanted.as_configs()
    names = wanted.names(configs)
    try:
        if directories:
            seats = [Seat(_lengthened(run.config(), configs[0]), run) for run in directories]
            results = relaunch(seats, configs[0].env, wanted.options)
        else:
            results = launch(configs, wanted.env, wanted.options, out=wanted.out, names=names)
    except Stopped as stopped:
        where = [run.path for run in directories] or [wanted.out / name for name in names]
        command = " ".join(["ascpo train --resume", *map(str, where)])
        print(f"Stopped by {stopped}. All finished epochs are saved. To go on:\n  {command}")
        sys.exit(128 + stopped.number)
    for result in results:
        _finish(result, wanted.evaluate)


def parse(words: list[str]) -> tuple[Train[Any], list[RunDirectory]]:
    """What is wanted, and the runs to go on with, if it is that."""
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for flag in ("--algo", "--config"):
        early.add_argument(flag)
    early.add_argument("--resume", nargs="*", default=[])
    said, _ = early.parse_known_args(words)
    directories = [find(Path(path)) for path in said.resume]
    base = Config("Point-8-Hazard")
    if directories:
        base = directories[0].config()
    elif said.config:
        base = _config_of(Path(said.config))
    if said.algo and said.algo != base.algo and not directories:
        base = dataclasses.replace(base, algo=said.algo, method=method_class(said.algo)())
    default = Train(
        base.method,
        base.env,
        base.algo,
        base.seed,
        engine=base.engine,
        total_steps=base.total_steps,
        settings=base.settings,
    )
    wanted = tyro.cli(Train[type(base.method)], default=default, args=words, prog="ascpo train")
    if directories:
        _refuse_changes(base, wanted)
    return wanted, directories


def _lengthened(config: Config, wanted: Config) -> Config:
    return dataclasses.replace(config, total_steps=wanted.total_steps)


def _config_of(path: Path) -> Config:
    if path.is_dir():
        return find(path).config()
    if not path.exists():
        raise NoRun(f"{path} is not there. --config takes the config.json of a run.")
    return Config.from_json(path.read_text())


def _refuse_changes(base: Config, wanted: Train[Any]) -> None:
    """A run goes on as it began."""
    asked = dataclasses.replace(base, env=wanted.env, algo=wanted.algo, seed=wanted.seed, settings=wanted.settings)
    asked = dataclasses.replace(asked, method=wanted.method, engine=engine_name(wanted.engine, base.env))
    if wanted.seeds:
        raise BadSetting("--seeds are of new runs. To go on with several, name their directories after --resume.")
    was, now = flat(to_plain(base)), flat(to_plain(asked))
    for name, before in was.items():
        if now.get(name) != before:
            raise BadSetting(
                f"{name} is {before} in this run, and {now.get(name)} was asked for. A run goes on with the settings "
                f"it began with; for others, begin a new one with --config {wanted.resume[0]}."
            )


def _finish(result: Result, episodes: int) -> None:
    """Judge the policy, write the report, and say where everything is."""
    run = result.directory
    print(f"Log: {run / 'metrics.csv'}")
    if episodes:
        from ascpo.report.document import write_report

        judged(run, episodes)
        print(f"Report: {write_report([run])}")
        print(f"Replay of the worst episodes: ascpo replay {run}")
