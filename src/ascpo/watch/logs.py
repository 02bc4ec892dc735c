"""The logs of runs while they train. A file is read again only when it has changed."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ascpo.report.data import RunData
from ascpo.runs.files import BadFile
from ascpo.runs.sealed import read_sealed
from ascpo.runs.tables import check_table, columns_of

MOST = 24
"""The largest number of runs that are shown: those that were written last."""


@dataclass(frozen=True, eq=False)
class Watched:
    """The present state of a run."""

    name: str
    data: RunData
    seconds: float
    """Seconds since its log was written."""
    trouble: str = ""
    """The reason why its log cannot be read."""

    @property
    def progress(self) -> str:
        """The epochs so far, and how long ago the last one was."""
        done, planned = self.data.epochs, self.data.planned_epochs
        if self.trouble or not done:
            return "no epoch yet"
        if done >= planned:
            return f"{done} epochs, finished"
        return f"{done} of {planned} epochs, the last one {_ago(self.seconds)} ago"

    def curve(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The steps and the values of a metric, without missing values."""
        steps, values = self.data.metrics.get("TotalEnvInteracts"), self.data.column(name)
        if steps is None or values is None:
            return np.zeros(0), np.zeros(0)
        known = np.isfinite(values)
        return steps[: len(values)][known], values[known]


class Logs:
    """The runs in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[Path, tuple[tuple[int, int], Watched]] = {}
        self.left_out = 0
        """Runs that are not shown."""

    def read(self) -> list[Watched]:
        """The runs by their names, including those that appeared meanwhile."""
        found = [file.parent for file in self._directory.glob("**/config.json")]
        found.sort(key=lambda run: _stamp(run)[0], reverse=True)
        self.left_out = max(len(found) - MOST, 0)
        return [self._read(run) for run in sorted(found[:MOST])]

    def _read(self, run: Path) -> Watched:
        stamp, seconds = _stamp(run), time.time() - _stamp(run)[0] / 1e9
        before = self._known.get(run)
        if before is not None and before[0] == stamp:
            known = before[1]
        else:
            known = self._watched(run)
            self._known[run] = stamp, known
        return Watched(known.name, known.data, seconds, known.trouble)

    def _watched(self, run: Path) -> Watched:
        name = run.name if run == self._directory else str(run.relative_to(self._directory))
        try:
            config = read_sealed(run / "config.json", "config").content
            data = RunData(run, config, _log(run))
            _ = data.planned_epochs, data.probability, data.seed
            return Watched(name, data, 0.0)
        except (BadFile, ValueError, TypeError, AttributeError) as error:
            return Watched(name, RunData(run, {}, {}), 0.0, str(error))


def _log(run: Path) -> Mapping[str, np.ndarray]:
    """All complete rows up to the first one that does not fit its checksum."""
    file = run / "metrics.csv"
    return columns_of(file, check_table(file).lines) if file.exists() else {}


def _stamp(run: Path) -> tuple[int, int]:
    """The time and the size of its log."""
    for file in (run / "metrics.csv", run / "config.json"):
        try:
            found = file.stat()
        except OSError:
            continue
        return found.st_mtime_ns, found.st_size
    return 0, 0


def _ago(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"
