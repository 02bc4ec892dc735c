"""`ascpo train`: train a policy, or go on with a run, and judge it at the end."""

import argparse
import dataclasses
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import tyro

from ascpo.algorithms import Method
from ascpo.cli.show import judged
from ascpo.runs.config import Config, method_class
from ascpo.runs.directory import NoRun, RunDirectory, find
from ascpo.runs.environment import name_of
from ascpo.runs.plain import BadSetting, flat, to_plain
from ascpo.runs.run import Options, Result, launch, relaunch
from ascpo.runs.stopping import Stopped
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
    total_steps: Annotated[float, _STEPS] = 6e6
    """Steps of all environments together."""
    out: Path = Path("runs")
    """Where the run's directory goes."""
    name: str | None = None
    """What it is called; made of environment, algorithm and seed if not given."""
    resume: Path | None = None
    """Go on with the run in this directory. Only --total-steps may be changed."""
    config: Path | None = None
    """Take the settings from the config.json of another run; what else is given here goes before."""
    evaluate: int = 500
    """Fresh episodes to judge the last policy with; 0 for none."""
    options: Annotated[Options, tyro.conf.arg(name="")] = field(default_factory=Options)
    settings: Annotated[Settings, tyro.conf.arg(name="")] = field(default_factory=Settings)

    def __post_init__(self) -> None:
        if self.evaluate < 0:
            raise BadSetting(f"evaluate={self.evaluate}: ask for some episodes, or for 0.")

    def as_config(self) -> Config:
        if self.total_steps != self.total_steps // 1:
            raise BadSetting(f"total_steps={self.total_steps} must be a whole number.")
        return Config(name_of(self.env), self.algo, self.seed, int(self.total_steps), self.settings, self.method)


def main(words: list[str]) -> None:
    wanted, directory = parse(words)
    try:
        if directory is None:
            result = launch(wanted.as_config(), wanted.env, wanted.options, out=wanted.out, name=wanted.name)
        else:
            config = wanted.as_config()
            result = relaunch(directory, config, config.env, wanted.options)
    except Stopped as stopped:
        where = directory.path if directory else wanted.out / (wanted.name or wanted.as_config().name())
        print(f"Stopped by {stopped}. All finished epochs are saved. To go on:\n  ascpo train --resume {where}")
        sys.exit(128 + stopped.number)
    _finish(result, wanted.evaluate)


def parse(words: list[str]) -> tuple[Train[Any], RunDirectory | None]:
    """What is wanted, and the run to go on with, if it is one."""
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for flag in ("--algo", "--resume", "--config"):
        early.add_argument(flag)
    said, _ = early.parse_known_args(words)
    directory = find(Path(said.resume)) if said.resume else None
    base = Config("Point-8-Hazard")
    if directory is not None:
        base = directory.config()
    elif said.config:
        base = _config_of(Path(said.config))
    if said.algo and said.algo != base.algo and directory is None:
        base = dataclasses.replace(base, algo=said.algo, method=method_class(said.algo)())
    default = Train(base.method, base.env, base.algo, base.seed, base.total_steps, settings=base.settings)
    wanted = tyro.cli(Train[type(base.method)], default=default, args=words, prog="ascpo train")
    if directory is not None:
        _refuse_changes(base, wanted)
    return wanted, directory


def _config_of(path: Path) -> Config:
    if path.is_dir():
        return find(path).config()
    if not path.exists():
        raise NoRun(f"{path} is not there. --config takes the config.json of a run.")
    return Config.from_json(path.read_text())


def _refuse_changes(base: Config, wanted: Train[Any]) -> None:
    """A run goes on as it began."""
    asked = dataclasses.replace(base, env=wanted.env, algo=wanted.algo, seed=wanted.seed, settings=wanted.settings)
    asked = dataclasses.replace(asked, method=wanted.method)
    was, now = flat(to_plain(base)), flat(to_plain(asked))
    for name, before in was.items():
        if now.get(name) != before:
            raise BadSetting(
                f"{name} is {before} in this run, and {now.get(name)} was asked for. A run goes on with the settings "
                f"it began with; for others, begin a new one with --config {wanted.resume}."
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
