"""The files of a run, read for a report.

Settings are read as plain JSON: their classes would import the learner, which takes seconds and is not needed. A file
or column that an older run lacks is None or empty. `report/verification.py` says which files can be trusted.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ascpo.choices import LimitKind
from ascpo.evaluation.evaluation_file import episodes_file
from ascpo.report.policies import POLICY, SELECTION, PolicyData
from ascpo.report.verification import CONFIG, METRICS, TIMING, read_contents
from ascpo.runs import description
from ascpo.runs.description import Description
from ascpo.runs.files import BadFile, reading
from ascpo.runs.sealed import UNVERIFIED
from ascpo.runs.serialization import BadSetting, flat, nearest
from ascpo.theory.cantelli import PAPER_K

Columns = Mapping[str, np.ndarray]
Json = Mapping[str, Any]
ACTIONS = {"sampled": "sampled actions", "mean": "mean actions"}
"""How the policy acts in an evaluation: the name in files → the name in text."""


@dataclass(frozen=True, eq=False)
class RunData:
    """The contents of a run's directory."""

    path: Path
    config: Json
    metrics: Columns
    timing: Columns = field(default_factory=dict)
    evaluation: Json = field(default_factory=dict)
    episodes: Mapping[str, Columns] = field(default_factory=dict)
    """Tables with one row per evaluated episode, by the kind of actions."""
    certificate: Json = field(default_factory=dict)
    versions: Json = field(default_factory=dict)
    has_policy: bool = False
    policy: PolicyData | None = None
    """The run's final policy."""
    selection: Columns = field(default_factory=dict)
    """The results of the last policies on validation scenes, if one of them is the final one."""
    doubts: Mapping[str, str] = field(default_factory=dict)
    """File → a sentence that says why it cannot be trusted."""
    unverified: tuple[str, ...] = ()
    """Files without checksums."""

    @property
    def name(self) -> str:
        return self.path.resolve().name

    @cached_property
    def settings(self) -> Json:
        """The settings by their names on the command line, such as `trust_region.delta`."""
        return flat(self.config)

    @property
    def env(self) -> str:
        return str(self.config.get("env", ""))

    @property
    def algo(self) -> str:
        return str(self.config.get("algo", ""))

    @property
    def preset(self) -> str:
        """The preset of the settings; empty for our defaults."""
        return str(self.config.get("preset") or "")

    @property
    def seed(self) -> int:
        return int(self.config.get("seed", 0))

    @property
    def epochs(self) -> int:
        return len(self.metrics.get("Epoch", ()))

    @property
    def planned_epochs(self) -> int:
        """The epochs that the settings ask for; 0 if they do not say."""
        steps = (self.settings.get("num_envs") or 0) * (self.settings.get("horizon") or 0)
        return -(-int(self.config.get("total_steps", 0)) // steps) if steps else 0

    @property
    def probability(self) -> float:
        """The target probability that an episode keeps all limits."""
        return float(self.settings.get("probability") or 0.98)

    @property
    def k(self) -> float:
        """The factor of the variance in the paper's bound. Older runs have it under the algorithm's name."""
        return float(self.settings.get("k", self.settings.get(f"{self.algo}.k", PAPER_K)))

    @cached_property
    def description(self) -> Description:
        """How the algorithm treats costs. Without a file that says so, the columns of the log decide."""
        try:
            return description.read(self.path)
        except ValueError:
            return self._described_by_log()

    def _described_by_log(self) -> Description:
        constrained = any(self.column("Nu", name) is not None for name in self.constraints)
        penalised, shielded = "Multiplier" in self.metrics, "ShieldRate" in self.metrics
        return Description(
            algorithm=self.algo,
            description="has settings that this version does not know",
            mechanism="constraint" if constrained else "penalty" if penalised else "shield" if shielded else "none",
            quantity="the constrained quantity" if constrained else "the cost",
            target="",
            step="constrained",
        )

    @property
    def target_range(self) -> tuple[float, float] | None:
        """The least and the largest share of the trust region that the target leaves to the constraints."""
        known = self.settings
        most = known.get("target.share", known.get("ask.share"))
        relief = known.get("target.timeout_relief", known.get("ask.relief"))
        return (float(most) * (1.0 - float(relief)), float(most)) if most and relief else None

    @cached_property
    def constraints(self) -> tuple[str, ...]:
        """Their names. The log does not name a single constraint, but the evaluation does."""
        logged = [name.split("_", 1)[1] for name in self.metrics if name.startswith("StdMaxCost_")]
        return tuple(map(str, self.evaluation.get("cost_names") or logged or ["cost"]))

    @property
    def limits(self) -> tuple[float, ...]:
        """One per constraint."""
        given = np.ravel(self.settings.get("limits") or 0.0).tolist()
        return tuple(map(float, given * len(self.constraints) if len(given) == 1 else given))

    @property
    def limits_on(self) -> LimitKind:
        """What the limits bound. Those of zero that bound sums of costs bound all states, too."""
        return "episode" if self.description.limits_on == "episode" and any(self.limits) else "state"

    @property
    def title(self) -> str:
        preset = f"preset {self.preset}, " if self.preset else ""
        return f"{self.env}, {self.algo}, {preset}seed {self.seed}"

    def warnings(self) -> list[str]:
        """A sentence for each doubt about the files."""
        files = ", ".join(self.unverified)
        return [*self.doubts.values(), *([f"{self.path}: {files}: {UNVERIFIED}."] if files else [])]

    def suffix(self, constraint: str) -> str:
        """The end of the names of a constraint's columns."""
        return f"_{constraint}" if len(self.constraints) > 1 else ""

    def column(self, name: str, constraint: str | None = None) -> np.ndarray | None:
        """A column of metrics.csv or timing.csv; None if it does not exist or holds no number."""
        name += self.suffix(constraint) if constraint is not None else ""
        found = self.metrics.get(name, self.timing.get(name))
        return found[: self.epochs] if found is not None and np.isfinite(found).any() else None

    def quantiles(self, constraint: str) -> dict[float, np.ndarray] | None:
        """Level → the quantile of the largest cost over the epochs. The log's columns say which levels there are."""
        pattern = re.compile(rf"EpMaxCost(\d+){re.escape(self.suffix(constraint))}")
        levels = sorted(int(found[1]) for name in self.metrics if (found := pattern.fullmatch(name)))
        columns = {level / 100: self.column(f"EpMaxCost{level}", constraint) for level in levels}
        return {level: column for level, column in columns.items() if column is not None} or None

    @property
    def ending(self) -> int:
        """The number of epochs that count as the end of the training: a tenth of it, from one to ten."""
        return min(max(self.epochs // 10, 1), 10)

    def last(self, name: str, epochs: int | None = None) -> float:
        """The mean of a column over the last epochs, by default over the end of the training."""
        found = self.column(name)
        ends = [] if found is None else [value for value in found[-(epochs or self.ending) :] if np.isfinite(value)]
        return float(np.mean(ends)) if ends else float("nan")


@dataclass(frozen=True)
class Found:
    """The result of a search for runs."""

    runs: tuple[RunData, ...]
    refused: tuple[str, ...] = ()
    """A sentence for each run that cannot be read."""


def read_run(path: Path) -> RunData:
    found = read_contents(path)
    metrics = found.tables.get(METRICS, {})
    run = RunData(
        path=path,
        config=found.config,
        metrics=metrics,
        timing=_as_long(found.tables.get(TIMING, {}), len(metrics.get("Epoch", ()))),
        evaluation=found.figures,
        episodes={kind: table for kind in ACTIONS if (table := found.tables.get(episodes_file(kind)))},
        certificate=found.certificate,
        versions=found.versions,
        has_policy=(path / POLICY).exists(),
        policy=found.policy,
        selection=found.tables.get(SELECTION, {}),
        doubts=found.doubts,
        unverified=tuple(found.unverified),
    )
    with reading(path / CONFIG, "cannot be used"):
        if not isinstance(run.config.get("env"), str):
            raise ValueError("it names no environment")
        _ = run.settings, run.seed, run.planned_epochs, run.probability, run.k, run.limits, run.target_range
    return run


def _as_long(columns: Columns, rows: int) -> Columns:
    """The columns with as many rows as the log, and nan for those that are missing."""
    return {
        name: np.concatenate([column[:rows], np.full(max(rows - len(column), 0), np.nan)])
        for name, column in columns.items()
    }


def one_run(path: Path) -> RunData:
    """The single run in a directory. It must have finished an epoch."""
    found = find_runs([path])
    if len(found) > 1:
        raise BadSetting(f"{path} holds {len(found)} runs. {nearest('', [str(run.path) for run in found])}")
    return found[0]


def find_runs(paths: Sequence[Path]) -> list[RunData]:
    """The runs in these directories, each once. At least one of them must have finished an epoch."""
    return list(search(paths).runs)


def search(paths: Sequence[Path]) -> Found:
    """The runs in these directories, each once, and those that cannot be read. At least one must have an epoch."""
    directories = list(dict.fromkeys(directory for path in paths for directory in _directories(path)))
    runs: list[RunData] = []
    refused: list[str] = []
    for directory in directories:
        try:
            runs.append(read_run(directory))
        except BadFile as error:
            refused.append(str(error))
    if not any(run.epochs for run in runs):
        broken = [*refused, *(run.doubts[METRICS] for run in runs if METRICS in run.doubts)]
        if broken:
            raise BadFile(" ".join(broken))
        names = ", ".join(map(str, directories))
        raise BadSetting(f"No epoch is finished in {names}. Wait for one, or continue with `ascpo train --resume`.")
    return Found(tuple(runs), tuple(refused))


def _directories(path: Path) -> list[Path]:
    named, path = path, path.parent if path.is_file() else path
    if (path / "config.json").exists():
        return [path]
    if named.is_file():
        raise BadSetting(f"{named} is a file, and {path} is not a run. Name the directory of a run, or one with runs.")
    below = sorted(file.parent for file in path.glob("**/config.json"))
    if not below:
        near = [str(file.parent) for file in sorted(path.parent.glob("*/config.json"))]
        offer = nearest(str(path), near) or "`ascpo list runs DIRECTORY` lists the runs in a directory."
        raise BadSetting(f"{path} holds no run. {offer}")
    return below
