"""What a run is made of, as frozen data: with the same, the same numbers."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ascpo.algorithms import ALGORITHMS, Algorithm, Method
from ascpo.runs.serialization import BadSetting, changed, from_plain, nearest, to_plain
from ascpo.training.settings import Settings

EngineName = Literal["native", "mjx-jax", "mjx-warp"]
HELD_OUT = 2**30 - 2**20
"""Seeds from here on are for evaluation: no training sees their episodes, however many environments it has."""


@dataclass(frozen=True)
class Config:
    """All that decides the numbers of a run."""

    env: str
    algo: str = "ascpo"
    seed: int = 0
    total_steps: int = 6_000_000
    engine: EngineName = "native"
    """What moves a suite's robots: native on the host's cores, or MJX on an accelerator."""
    settings: Settings = field(default_factory=Settings)
    method: Method = field(default_factory=ALGORITHMS["ascpo"])
    """The algorithm's own settings."""

    def __post_init__(self) -> None:
        if not 0 <= self.seed < HELD_OUT:
            raise BadSetting(f"seed={self.seed} must lie between 0 and {HELD_OUT - 1}: others are kept for evaluation.")
        if self.engine not in get_args(EngineName):
            raise BadSetting(f"engine={self.engine!r} is no engine. {nearest(str(self.engine), get_args(EngineName))}")
        if self.total_steps < 1:
            raise BadSetting(f"total_steps={self.total_steps} leaves nothing to train. Try 6e6.")

    @property
    def epochs(self) -> int:
        """As many as the steps need; the last one may go beyond."""
        return -(-self.total_steps // (self.settings.num_envs * self.settings.horizon))

    @property
    def fingerprint(self) -> str:
        """The same for runs that may go on from each other's checkpoints: all but the length counts."""
        plain = self.plain() | {"total_steps": None}
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]

    def algorithm(self) -> Algorithm:
        return _built(self.method, self.settings.probability)

    def name(self) -> str:
        """For the run's directory: environment, algorithm, its mode if that is not the usual one, seed."""
        default, hints = type(self.method)(), get_type_hints(type(self.method))
        modes = [
            getattr(self.method, name)
            for name, hint in hints.items()
            if get_origin(hint) is Literal and getattr(self.method, name) != getattr(default, name)
        ]
        env = "".join(letter if letter.isalnum() or letter in "-+._" else "-" for letter in self.env)
        return "-".join([env.strip("-"), self.algo, *modes, f"seed{self.seed}"])

    def plain(self) -> dict[str, Any]:
        """As plain data. The native engine goes without saying: runs of it are known by what they were before."""
        plain = to_plain(self)
        return {name: value for name, value in plain.items() if (name, value) != ("engine", "native")}

    def to_json(self) -> str:
        return json.dumps(self.plain(), indent=2) + "\n"

    @staticmethod
    def from_json(text: str) -> "Config":
        data = json.loads(text)
        if not isinstance(data, dict):
            raise BadSetting("the settings are no dictionary.")
        settings = from_plain(Settings, data.pop("settings", {}))
        method = from_plain(method_class(data.get("algo", "ascpo")), data.pop("method", {}))
        return changed(Config("", settings=settings, method=method), data)


@lru_cache(maxsize=64)
def _built(method: Method, probability: float) -> Algorithm:
    """One object for the same settings, so that what is compiled for it is compiled once."""
    return method.build(probability)


def configure(
    env: str,
    algo: str = "ascpo",
    *,
    seed: int = 0,
    total_steps: float = 6e6,
    engine: EngineName = "native",
    **chosen: Any,
) -> Config:
    """A config from flat settings: those that all algorithms share, and the algorithm's own, by their names."""
    method = method_class(algo)()
    shared, own = {f.name for f in dataclasses.fields(Settings)}, {f.name for f in dataclasses.fields(method)}
    for name in chosen:
        if name not in shared | own:
            others = [other for other, kind in ALGORITHMS.items() if name in kind.__dataclass_fields__]
            hint = f"{' and '.join(others)} {'has' if len(others) == 1 else 'have'} it." if others else ""
            raise BadSetting(f"{algo} has no setting {name!r}. {hint or nearest(name, sorted(shared | own))}")
    return Config(
        env=env,
        algo=algo,
        seed=_whole("seed", seed),
        total_steps=_whole("total_steps", total_steps),
        engine=engine,
        settings=changed(Settings(), _only(chosen, shared)),
        method=changed(method, _only(chosen, own)),
    )


def method_class(algo: str) -> type[Method]:
    if algo not in ALGORITHMS:
        raise BadSetting(f"{algo!r} is no algorithm. {nearest(algo, ALGORITHMS)}")
    return ALGORITHMS[algo]


def _only(chosen: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in chosen.items() if name in names}


def _whole(name: str, value: Any) -> int:
    """6e6 is a whole number too."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value // 1:
        return int(value)
    raise BadSetting(f"{name}={value!r} must be a whole number.")
