"""A grid: every environment with every algorithm, preset, value of a setting, and seed."""

import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from ascpo.algorithms.presets import PresetName
from ascpo.ranges import Range
from ascpo.runs.composition import acting_settings, refuse_unknown
from ascpo.runs.config import Config, configure, for_file_name
from ascpo.runs.directory import check_name
from ascpo.runs.environment import engine_name, name_of
from ascpo.runs.files import reading
from ascpo.runs.serialization import BadSetting, Plain, changed, flat
from ascpo.sweep.overrides import nested, read_overrides
from ascpo.sweep.seeds import seeds_of

_MOST_RUNS = 100_000


@dataclass(frozen=True)
class Grid:
    """Which runs to train: all combinations of these lists."""

    env: tuple[str, ...] = ("Point-8-Hazard",)
    """The environments: suites, Gymnasium ids, or package.module:factory."""
    algo: tuple[str, ...] = ("ascpo",)
    """The algorithms. Each takes the settings that it has."""
    preset: tuple[Literal["ours", "published", "released"], ...] = ("ours",)
    """The settings to start from: our defaults, those of the paper, or those of its released code."""
    seeds: str = "0"
    """The seeds: 0..7, or 0,3,5."""
    engine: Literal["native", "mjx", "mjx-jax", "mjx-warp"] = "native"
    """What simulates: `native` on the host's cores, or MJX on an accelerator."""
    total_steps: Annotated[float, Range(at_least=1.0, at_most=1e15)] = 6e6
    """The length of each training, in steps of all its environments together."""
    set: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """A setting of all runs: --set horizon=500 --set ascpo.mode=paper."""
    vary: Annotated[
        tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]], tyro.conf.arg(metavar="NAME VALUE VALUE ...")
    ] = ()
    """A setting that takes several values: --vary trust_region.delta 0.01 0.02. May be given more than once."""

    def configs(self) -> list[tuple[str, Config]]:
        """The configs of the grid, with the names of their directories."""
        lists = (self.env, self.algo, self.preset)
        if not all(lists):
            raise BadSetting("A grid needs at least one environment, one algorithm and one preset.")
        found: dict[str, Config] = {}
        for env, algo, preset in itertools.product(*lists):
            for name, config in self._configs_of(env, algo, None if preset == "ours" else preset):
                if found.setdefault(check_name(name), config) != config:
                    raise BadSetting(f"Two runs would be named {name}. Make two sweeps, each with its own --out.")
                if len(found) > _MOST_RUNS:
                    raise BadSetting(f"The grid has more than {_MOST_RUNS} runs. Divide it into several sweeps.")
        self._refuse_unused(found)
        return list(found.items())

    def _configs_of(self, env: str, algo: str, preset: PresetName | None) -> Iterator[tuple[str, Config]]:
        env = name_of(env)
        engine = engine_name(self.engine, env)
        axes = [[(axis[0], value) for value in axis[1:]] for axis in map(_axis, self.vary)]
        for values in itertools.product(*axes):
            typed = read_overrides([*self.set, *(f"{name}={value}" for name, value in values)])
            given = nested(typed, algo)
            refuse_unknown(algo, given)
            chosen: Plain = acting_settings(env, algo, given, preset)
            acting = flat(chosen)
            labels = [f"{name.rpartition('.')[2]}{value}" for name, value in values if _acts(name, algo, acting)]
            for seed in seeds_of(self.seeds):
                own: Plain = {"preset": preset, "seed": seed, "total_steps": self.total_steps, "engine": engine}
                config = configure(env, algo, **own, **chosen)
                stem = config.name().removesuffix(f"-seed{seed}")
                yield "-".join([stem, *map(for_file_name, labels), f"seed{seed}"]), config

    def _refuse_unused(self, found: Mapping[str, Config]) -> None:
        """Raise an error for a setting that no algorithm uses."""
        typed = read_overrides([*self.set, *("=".join(_axis(words)[:2]) for words in self.vary)])
        env = name_of(self.env[0])
        acting = {algo: flat(acting_settings(env, algo, nested(typed, algo))) for algo in self.algo}
        for name in typed:
            if not any(_acts(name, algo, acting[algo]) for algo in self.algo):
                first = next(iter(found.values()))
                # This raises the error that says why.
                alone: Plain = nested({name: typed[name]}, first.algo)
                configure(first.env, first.algo, **alone)
                raise BadSetting(f"{name} has no effect on these algorithms: {', '.join(self.algo)}. Leave it out.")


def grids_in(file: Path) -> list[Grid]:
    """The grids of a TOML file: one at its top level, or several as [[grid]]. They have the names of the flags."""
    with reading(file, "is not valid TOML"):
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    several = content.pop("grid", None)
    if several is not None and content:
        raise BadSetting(f"{file} has {next(iter(content))} beside [[grid]]. Write it into each grid.")
    tables = [content] if several is None else several
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadSetting(f"{file}: write [[grid]], with two brackets on each side, before each of several grids.")
    try:
        return [changed(Grid(), _as_typed(table)) for table in tables]
    except BadSetting as error:
        raise BadSetting(f"{file}: {error}") from None


def _as_typed(table: Plain) -> Plain:
    """A TOML table in the form of the command line: single values become lists, and settings text."""
    plain: Plain = {}
    for name, value in table.items():
        plain[name] = [value] if name in ("env", "algo", "preset") and isinstance(value, str) else value
        if name == "seeds":
            plain[name] = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        if name == "set":
            plain[name] = [f"{key}={_word(one)}" for key, one in flat(_table(name, value)).items()]
        if name == "vary":
            several = flat(_table(name, value)).items()
            plain[name] = [(key, *map(_word, one if isinstance(one, list) else [one])) for key, one in several]
    return plain


def _table(name: str, value: object) -> Plain:
    if not isinstance(value, dict):
        raise BadSetting(f"{name} is a table of settings and their values: {name} = {{horizon = 500}}.")
    return value


def _word(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _axis(words: tuple[str, ...]) -> tuple[str, ...]:
    if len(words) < 2 or "=" in words[0]:
        raise BadSetting("--vary takes the name of a setting and its values: --vary trust_region.delta 0.01 0.02.")
    return words


def _acts(name: str, algo: str, acting: Mapping[str, object]) -> bool:
    plain = next(iter(read_overrides([f"{name}=0"])))
    return plain.removeprefix(f"{algo}.") in acting
