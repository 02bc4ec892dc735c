"""What a run left behind, read for a report.

Settings are read as plain JSON: the classes they came from would bring the learner with them, which a report does not
need and which takes seconds to import. Whatever is missing is None, or empty: an older run, or one not judged yet.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ascpo.runs.serialization import BadSetting, nearest
from ascpo.runs.tables import read_table

Columns = Mapping[str, np.ndarray]
QUANTILES = (50, 75, 90, 95, 99)
"""Of an episode's largest cost, in percent: those that metrics.csv has a column for."""
WAYS = {"sampled": "drawn actions", "mean": "mean actions"}
"""How a policy can be judged."""


@dataclass(frozen=True, eq=False)
class Run:
    """A run's directory, read."""

    path: Path
    config: Mapping[str, Any]
    metrics: Columns
    timing: Columns = field(default_factory=dict)
    evaluation: Mapping[str, Any] = field(default_factory=dict)
    episodes: Mapping[str, Columns] = field(default_factory=dict)
    """By the way actions were chosen: a row an episode."""
    certificate: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    policy: bool = False
    """Whether there is one, to judge and to watch."""

    @property
    def name(self) -> str:
        return self.path.resolve().name

    @property
    def env(self) -> str:
        return str(self.config.get("env", ""))

    @property
    def algo(self) -> str:
        return str(self.config.get("algo", ""))

    @property
    def seed(self) -> int:
        return int(self.config.get("seed", 0))

    @property
    def epochs(self) -> int:
        return len(self.metrics.get("Epoch", ()))

    @property
    def planned(self) -> int:
        """Epochs that the settings ask for; 0 where they do not say."""
        steps = self.setting("num_envs", 0) * self.setting("horizon", 0)
        return -(-int(self.config.get("total_steps", 0)) // steps) if steps else 0

    @property
    def probability(self) -> float:
        """The promised one."""
        return float(self.setting("probability", 0.98))

    @property
    def k(self) -> float:
        """How much the variance counts in the paper's bound: the method's own, or the paper's."""
        return float(self.method.get("k", 7.0))

    @property
    def method(self) -> Mapping[str, Any]:
        """The algorithm's own settings; older runs have them under its name."""
        return self.config.get("method") or self.config.get(self.algo) or {}

    @cached_property
    def constraints(self) -> tuple[str, ...]:
        """Their names. One alone has no name in the log, so the evaluation is asked first."""
        known = self.evaluation.get("cost_names")
        if known:
            return tuple(str(name) for name in known)
        named = [name.split("_", 1)[1] for name in self.metrics if name.startswith("StdMaxCost_")]
        return tuple(named) or ("cost",)

    @property
    def limits(self) -> tuple[float, ...]:
        """One for each constraint."""
        given = self.setting("limits", [0.0])
        given = tuple(given) if isinstance(given, list) else (given,)
        return tuple(map(float, given * len(self.constraints) if len(given) == 1 else given))

    @property
    def words(self) -> str:
        """What it is, in a line."""
        return f"{self.env}, {self.algo}, seed {self.seed}"

    def setting(self, name: str, default: Any) -> Any:
        """One that all algorithms share; with a dot, one of a group."""
        found: Any = self.config.get("settings", {})
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return default if found is None else found

    def tail(self, constraint: str) -> str:
        """What the columns of a constraint end in."""
        return f"_{constraint}" if len(self.constraints) > 1 else ""

    def column(self, name: str, constraint: str | None = None) -> np.ndarray | None:
        """A column of the log, or of the clock; None where it is not there, or says nothing."""
        name += self.tail(constraint) if constraint is not None else ""
        found = self.metrics.get(name, self.timing.get(name))
        if found is None or not np.isfinite(found).any():
            return None
        return found[: self.epochs]

    def quantiles(self, constraint: str) -> dict[float, np.ndarray] | None:
        """Level → the quantile of finished episodes' largest cost, an epoch each."""
        columns = {q / 100: self.column(f"EpMaxCost{q}", constraint) for q in QUANTILES}
        found = {level: column for level, column in columns.items() if column is not None}
        return found if len(found) == len(columns) else None

    def last(self, name: str, epochs: int = 10) -> float:
        """Its mean over the last epochs."""
        found = self.column(name)
        ends = np.array([]) if found is None else found[-epochs:]
        ends = ends[np.isfinite(ends)]
        return float(ends.mean()) if len(ends) else float("nan")


def read_run(path: Path) -> Run:
    """A run, as far as its files can be read."""
    config = _json(path / "config.json")
    if not config:
        raise BadSetting(f"{path / 'config.json'} cannot be read as settings. Is it the directory of a run?")
    return Run(
        path=path,
        config=config,
        metrics=_table(path / "metrics.csv"),
        timing=_table(path / "timing.csv"),
        evaluation=_json(path / "evaluation.json"),
        episodes={way: table for way in WAYS if (table := _table(path / f"episodes-{way}.csv"))},
        certificate=_json(path / "certificate.json"),
        versions=_json(path / "versions.json"),
        policy=(path / "policy.safetensors").exists(),
    )


def one_run(path: Path) -> Run:
    """The run of a directory, which has to have finished an epoch."""
    found = find_runs([path])
    if len(found) > 1:
        raise BadSetting(f"{path} holds {len(found)} runs. {nearest('', [str(run.path) for run in found])}")
    return found[0]


def find_runs(paths: Sequence[Path]) -> list[Run]:
    """The runs that these are, or hold, each once; at least one of them with something to tell."""
    places = list(dict.fromkeys(place for path in paths for place in _places(path)))
    found = list(map(read_run, places))
    if not any(run.epochs for run in found):
        raise BadSetting(
            f"No epoch is finished in {', '.join(map(str, places))}. Wait for one, or go on by `ascpo train --resume`."
        )
    return found


def _places(path: Path) -> Iterator[Path]:
    path = path.parent if path.is_file() else path
    if (path / "config.json").exists():
        yield path
        return
    below = sorted(file.parent for file in path.glob("**/config.json"))
    if not below:
        near = [str(file.parent) for file in sorted(path.parent.glob("*/config.json"))]
        offer = nearest(str(path), near) or "`ascpo list runs DIRECTORY` shows those there are."
        raise BadSetting(f"{path} holds no run. {offer}")
    yield from below


def _json(path: Path) -> dict[str, Any]:
    """A dictionary; an empty one where there is none."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _table(path: Path) -> Columns:
    try:
        return read_table(path)
    except (OSError, ValueError):
        return {}
