"""CSV tables that are written row by row, and can be cut back to the epoch of a checkpoint.

Each table has a second file with the ending `.sha256`: first the fingerprint of the run, then a checksum for each line
of the table and all lines before it. So every changed row is detected.
"""

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ascpo.runs.files import BadFile, CannotWrite, checksum, open_to_write, reading, write_all, write_whole, writing

Row = dict[str, float]
Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Checked:
    """The valid lines of a table, and what is wrong with it."""

    lines: list[bytes] = field(default_factory=list)
    """The header and all rows before the first damaged one."""
    damage: str = ""
    """A sentence. Empty if all checksums match, or there are none."""
    pending: str = ""
    """A sentence about a last row without a checksum, as a process leaves it that is killed during a write."""
    run: str = ""
    """The fingerprint of the run that wrote it."""
    verified: bool = False
    """Whether there are checksums. Earlier versions wrote none."""


@dataclass(frozen=True)
class Mark:
    """A position in a table, to which it can be cut back."""

    size: int
    sums: int
    last: str
    missing: int


class Table:
    """A CSV file and its checksums. Opening it keeps the first `rows` rows and drops the rest.

    `expected` is the last checksum of these rows in a checkpoint. With `may_miss`, for tables on which no number
    depends, damaged rows become nan. The columns never change: if an earlier version wrote the header, new
    columns are left out.
    """

    def __init__(self, path: Path, rows: int = 0, *, run: str = "", expected: str = "", may_miss: bool = False) -> None:
        self.path, self._missing = path, 0
        kept: list[bytes] = []
        if rows:
            kept = _believable(path, rows) if may_miss else _proven(path, rows, run, expected)
            self._missing = rows - max(len(kept) - 1, 0)
        sums = _chain(run, kept)
        self.last = sums[-1] if kept else run
        """The checksum of all lines so far."""
        write_whole(path, b"".join(kept))
        write_whole(sums_of(path), checksums(b"".join(kept), run))
        with writing(path):
            self._file, self._sums = open_to_write(path, keep=True), open_to_write(sums_of(path), keep=True)
        self._columns = next(csv.reader([kept[0].decode(errors="replace")])) if kept else []

    def write(self, row: Row) -> None:
        """Write a row and its checksum, or neither."""
        rows = [row]
        if self._missing:
            first = int(row["Epoch"]) - self._missing
            rows = [dict.fromkeys(row, float("nan")) | {"Epoch": first + i} for i in range(self._missing)] + rows
        text = io.StringIO(newline="")
        columns = self._columns or list(row)
        writer = csv.DictWriter(text, columns, restval="nan", extrasaction="ignore")
        if not self._columns:
            writer.writeheader()
        writer.writerows({name: _short(value) for name, value in one.items()} for one in rows)
        lines = _complete(text.getvalue().encode())
        sums, before = _chain(self.last, lines), self.mark()
        try:
            with writing(self.path):
                write_all(self._file, b"".join(lines))
                write_all(self._sums, "".join(f"{one}\n" for one in sums).encode())
        except CannotWrite:
            self.back_to(before)
            raise
        self.last, self._columns, self._missing = sums[-1], columns, 0

    def mark(self) -> Mark:
        size, sums = (os.fstat(file.fileno()).st_size for file in (self._file, self._sums))
        return Mark(size, sums, self.last, self._missing)

    def back_to(self, mark: Mark) -> None:
        """Drop rows that were written since. This also works on a full disk."""
        with writing(self.path):
            os.ftruncate(self._file.fileno(), mark.size)
            os.ftruncate(self._sums.fileno(), mark.sums)
        self.last, self._missing, self._columns = mark.last, mark.missing, self._columns if mark.size else []

    def sync(self) -> None:
        """Sync all rows to the disk."""
        with writing(self.path):
            os.fsync(self._file.fileno())
            os.fsync(self._sums.fileno())

    def close(self) -> None:
        self._file.close()
        self._sums.close()


def write_rows(tables: Sequence[Table], rows: Sequence[Row]) -> None:
    """Write a row to each table, or to none of them."""
    before = [table.mark() for table in tables]
    try:
        for table, row in zip(tables, rows, strict=True):
            table.write(row)
    except CannotWrite:
        for table, mark in zip(tables, before, strict=True):
            table.back_to(mark)
        raise


def table_text(rows: Sequence[Row]) -> str:
    """A whole table as the text of a CSV file."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows({name: _short(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def table_with_sums(path: Path, rows: Sequence[Row], run: str) -> dict[Path, str]:
    """A whole table and its checksums, as the contents of two files."""
    text = table_text(rows)
    return {path: text, sums_of(path): checksums(text.encode(), run)}


def checksums(content: bytes, run: str) -> str:
    """The text of the file with a table's checksums."""
    return "".join(f"{one}\n" for one in (run, *_chain(run, _complete(content))))


def sums_of(path: Path) -> Path:
    """The file with a table's checksums."""
    return path.with_name(path.name + ".sha256")


def read_table(path: Path) -> Columns:
    """The columns by name. An incomplete last row is left out, and a damaged table is an error."""
    found = check_table(path)
    if found.damage:
        raise BadFile(found.damage)
    return columns_of(path, found.lines)


def read_rows(path: Path) -> list[Row]:
    """The rows of a table; none if there is no table yet."""
    columns = read_table(path) if path.exists() else {}
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def as_written(row: Row) -> Row:
    """A row, rounded as in the table, so that decisions are the same in a resumed run."""
    return {name: float(_short(value)) for name, value in row.items()}


def columns_of(path: Path, lines: Sequence[bytes]) -> Columns:
    with reading(path):
        header, *rows = csv.reader([line.decode() for line in lines]) if lines else [[]]
        for number, row in enumerate(rows):
            if len(row) != len(header):
                raise ValueError(f"row {number} has {len(row)} values, but there are {len(header)} columns")
        columns = zip(*rows, strict=True) if rows else [[] for _ in header]
        return {name: np.array(column, float) for name, column in zip(header, columns, strict=True)}


def check_table(path: Path) -> Checked:
    """Compare a table with its checksums."""
    with reading(path):
        # The checksums are read first, so that a row that is written meanwhile has none and is left out.
        sums = sums_of(path).read_bytes().decode(errors="replace") if sums_of(path).exists() else None
        lines = _complete(path.read_bytes())
    if sums is None:
        return Checked(lines)
    known = sums.split("\n")[:-1]
    if not known:
        return Checked(lines, f"{sums_of(path)} is damaged: it is empty. So {path} cannot be checked.", verified=True)
    run, *wanted = known
    pairs = zip(_chain(run, lines), wanted, strict=False)
    wrong = next((i for i, (one, other) in enumerate(pairs) if one != other), None)
    if wrong is not None:
        where = f"row {wrong - 1}" if wrong else "its header"
        damage = f"{path} is damaged, or {sums_of(path).name} is: {where} does not fit its checksum. Restore them."
        return Checked(lines[:wrong], damage, run=run, verified=True)
    if len(lines) < len(wanted):
        damage = f"{path} has lost rows: it has {_rows(lines)}, and {sums_of(path).name} knows {_rows(wanted)}."
        return Checked(lines, damage, run=run, verified=True)
    if len(lines) > len(wanted) + 1:
        damage = f"{path} has {_rows(lines)} rows, and {sums_of(path).name} knows only {_rows(wanted)}."
        return Checked(lines[: len(wanted)], damage, run=run, verified=True)
    pending = ""
    if len(lines) > len(wanted):
        pending = (
            f"The last row of {path} has no checksum and is left out: the training is writing it, or was stopped "
            f"meanwhile. Continuing the run repairs it."
        )
    return Checked(lines[: len(wanted)], pending=pending, run=run, verified=True)


def _rows(lines: Sequence[object]) -> int:
    return max(len(lines) - 1, 0)


def _complete(content: bytes) -> list[bytes]:
    return [line + b"\n" for line in content.split(b"\n")[:-1]]


def _chain(start: str, lines: Sequence[bytes]) -> list[str]:
    """For each line, a checksum of it and of all lines before it."""
    out = [start]
    for line in lines:
        out.append(checksum(out[-1].encode() + b"\n" + line)[:16])
    return out[1:]


def _proven(path: Path, rows: int, run: str, expected: str) -> list[bytes]:
    """The header and this number of rows, if they match the checkpoint."""
    found = check_table(path)
    with reading(path):
        lines = _complete(path.read_bytes())[: rows + 1]
    if len(lines) < rows + 1:
        raise BadFile(
            f"{path} has {_rows(lines)} rows, but the checkpoint was written after {rows}: the file was changed. "
            f"Restore it, remove later checkpoints, or start another run."
        )
    damaged = len(found.lines) < rows + 1 and bool(found.damage)
    if expected and _chain(run, lines)[-1] != expected:
        why = found.damage if damaged else f"{path} is not the log of this checkpoint: its rows differ."
        raise BadFile(f"{why} The run can only continue with its own log.")
    if not expected and damaged:
        raise BadFile(f"{found.damage} The run cannot continue with a damaged log.")
    return lines


def _believable(path: Path, rows: int) -> list[bytes]:
    """The header and at most this number of rows, up to the first damaged one."""
    try:
        lines = check_table(path).lines[: rows + 1]
        columns_of(path, lines)
    except BadFile:
        return []
    return lines if len(lines) > 1 else []


def _short(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"
