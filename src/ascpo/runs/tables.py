"""Tables on disk: CSV files, written row by row, which can be cut back to the epoch of a checkpoint."""

import csv
import os
from pathlib import Path

import numpy as np

from ascpo.runs.links import no_follow, refuse_links

Row = dict[str, float]


class Table:
    """A CSV file. It keeps the first `rows` rows and drops the others."""

    def __init__(self, path: Path, rows: int = 0) -> None:
        refuse_links(path)
        if rows:
            _cut(path, rows)
        self._file = open(path, "a" if rows else "w", newline="", opener=no_follow)  # noqa: SIM115 (closed by `close`)
        self._writer: csv.DictWriter[str] | None = None

    def write(self, row: Row) -> None:
        if self._writer is None:
            self._writer = csv.DictWriter(self._file, list(row))
            if self._file.tell() == 0:
                self._writer.writeheader()
        self._writer.writerow({name: _short(value) for name, value in row.items()})
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def read_table(path: Path) -> dict[str, np.ndarray]:
    """The columns by name. A last row that is not complete is left out."""
    with path.open(newline="") as file:
        lines = [line for line in file if line.endswith("\n")]
    header, *rows = csv.reader(lines) if lines else [[]]
    columns = zip(*rows, strict=True) if rows else [[] for _ in header]
    return {name: np.array(column, float) for name, column in zip(header, columns, strict=True)}


def _cut(path: Path, rows: int) -> None:
    """Keep the header and so many rows. The old file stays until the new one is complete."""
    with path.open("rb") as file:
        lines = [line for line, _ in zip(file, range(rows + 1), strict=False)]
    if len(lines) < rows + 1 or not lines[-1].endswith(b"\n"):
        raise ValueError(
            f"{path} has {max(len(lines) - 1, 0)} rows, but the checkpoint was made after {rows}: somebody changed the "
            f"file. Restore it, or start another run."
        )
    shorter = path.with_suffix(".part")
    refuse_links(shorter)
    shorter.write_bytes(b"".join(lines))
    os.replace(shorter, path)


def _short(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"
