"""Exported runs: small tables that `export` wrote, without run directories (`runs.csv`, `curves.csv`, `episodes.csv`).

They count like run directories, except for time and memory.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ascpo.paper.columns import COLUMNS, OURS, Column
from ascpo.paper.experiments import Training
from ascpo.paper.printed import LOGGED, STEPS
from ascpo.runs.files import reading
from ascpo.runs.serialization import BadSetting, nearest

RUNS, CURVES, EPISODES = "runs.csv", "curves.csv", "episodes.csv"
Row = dict[str, str]
_NEEDED = ("suite", "algorithm", "seed", "steps")
_NEEDED_OF_EPISODES = ("suite", "algorithm", "seed", "start", "costs")


class RunKey(NamedTuple):
    """The identity of a run among those of the same length."""

    suite: str
    algorithm: str
    column: Column
    seed: int

    @staticmethod
    def of(training: Training) -> "RunKey":
        return RunKey(training.suite, training.variant.name, training.column, training.seed)

    def row(self) -> Row:
        return {
            "suite": self.suite,
            "algorithm": self.algorithm,
            "settings": self.column,
            "seed": str(self.seed),
        }


@dataclass(frozen=True)
class Exported:
    """The rows of the tables, by run. All runs have the same length, and average over the same number of epochs."""

    runs: Mapping[RunKey, Row] = field(default_factory=dict)
    curves: Mapping[RunKey, Sequence[Row]] = field(default_factory=dict)
    episodes: Mapping[RunKey, Mapping[str, np.ndarray]] = field(default_factory=dict)
    """The costs of episodes after training, by fixed start. The key "" stands for held-out scenes."""

    def finished(self) -> list[RunKey]:
        return [key for key, row in self.runs.items() if row["total_steps"] and _steps(row) >= int(row["total_steps"])]

    def numbers(self, key: RunKey) -> dict[str, float]:
        """The final values, by measure."""
        return {m.name: float(self.runs[key][m.key]) for m in LOGGED if self.runs[key].get(m.key)}

    def log(self, key: RunKey) -> dict[str, np.ndarray]:
        """The curve, with the column names of a run's log."""
        rows = self.curves.get(key, ())
        out = {"TotalEnvInteracts": np.array([float(row["steps"]) for row in rows])}
        for m in LOGGED:
            values = np.array([float(row.get(m.key) or np.nan) for row in rows])
            out[m.column] = 1.0 - values if m.complement else values
        return out

    def only(self, name: str) -> str:
        """The single value of a column of `runs.csv`; empty without runs."""
        return next((row[name] for row in self.runs.values() if row[name]), "")


def read_exported(folder: Path) -> Exported:
    """The tables of a folder."""
    if not (folder / RUNS).exists():
        raise BadSetting(f"{folder} has no {RUNS}. `ascpo paper show NAME --export {folder}` writes it.")
    return Exported(
        {
            _key(row, folder): row | {"total_steps": row.get("total_steps", ""), "last": row.get("last", "1")}
            for row in _rows(folder / RUNS, _NEEDED)
        },
        _by_run(_rows(folder / CURVES, _NEEDED), folder),
        {
            key: {row["start"]: _costs(row, folder / EPISODES) for row in rows}
            for key, rows in _by_run(_rows(folder / EPISODES, _NEEDED_OF_EPISODES), folder).items()
        },
    )


def check_exported(found: Exported, folder: Path, *, steps: int, last: int | None = None) -> None:
    """Refuse runs of another length, or means over another number of epochs."""
    has_steps, has_last = found.only("total_steps"), found.only("last")
    if has_steps not in ("", str(steps)):
        raise BadSetting(
            f"{folder} has runs of {int(has_steps):,} steps, not of {steps:,}. Try --scale {int(has_steps) / STEPS:g}, "
            f"or another directory."
        )
    if last is not None and has_last not in ("", str(last)):
        raise BadSetting(
            f"{folder} has means over the last {has_last} epochs, not {last}. Try --last {has_last}, or another "
            f"directory."
        )


def _rows(file: Path, needed: Sequence[str]) -> list[Row]:
    """The rows of a table; none if the file does not exist. Damaged tables, and those of other things, are refused."""
    if not file.exists():
        return []
    with reading(file):
        rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
    if rows and (missing := [name for name in needed if name not in rows[0]]):
        raise BadSetting(f"{file} has no column {missing[0]!r}, so it is not a table of runs.")
    with reading(file):
        for number, row in enumerate(rows):
            if None in row or None in row.values():
                raise ValueError(f"row {number} has another number of values than there are columns")
            whole = (row["seed"], row.get("steps") or 0, row.get("total_steps") or 0)
            _ = [*map(int, whole), *(float(row.get(measure.key) or 0) for measure in LOGGED)]
    return rows


def _costs(row: Row, file: Path) -> np.ndarray:
    with reading(file):
        return np.array(row["costs"].split(), float)


def _by_run(rows: Iterable[Row], folder: Path) -> dict[RunKey, list[Row]]:
    out: dict[RunKey, list[Row]] = {}
    for row in rows:
        out.setdefault(_key(row, folder), []).append(row)
    return out


def _key(row: Row, folder: Path) -> RunKey:
    """The key of a row. Tables from before columns existed have our settings."""
    word = row.get("settings") or OURS
    column: Column | None = next((column for column in COLUMNS if column == word), None)
    if column is None:
        raise BadSetting(f"{folder} has runs with the settings {word!r}. {nearest(word, COLUMNS)}")
    return RunKey(row["suite"], row["algorithm"], column, int(row["seed"]))


def _steps(row: Row) -> int:
    return int(row["steps"])
