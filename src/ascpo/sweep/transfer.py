"""Transfer of runs to another machine: a directory of runs in few files of limited size.

Finished runs are packed without checkpoints, unfinished ones with their last. Each file is a tar archive with an index
and a compressed archive of every run. Files can be unpacked in any order, and repeatedly.
"""

import gzip
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from ascpo.runs.archives import packed, unpacked
from ascpo.runs.directory import RunDirectory, runs_in
from ascpo.runs.files import BadFile, NoRun, reading, write_whole, writing
from ascpo.sweep.executors.packing import pack, unpack
from ascpo.sweep.store import epochs_done, is_finished

LARGEST = 60 * 2**20
"""Bytes of a file, unless a single run is larger."""
_FORMAT = "ascpo runs 1"
_LEVEL = 3
"""The level of compression. It is low, because checkpoints are mostly numbers, which hardly get smaller."""


@dataclass(frozen=True)
class _PackedRun:
    """A packed run, and its progress."""

    place: str
    """Its directory, below the directory of all runs."""
    epochs: int
    finished: bool


Change = Literal["new", "further", "kept"]
"""What unpacking did: the run is new, it replaced one with fewer epochs (`further`), or the existing one was kept."""


def pack_runs(directory: Path, out: Path, largest: int = LARGEST) -> list[tuple[Path, int]]:
    """Pack all runs below a directory into files OUT-1.tar, OUT-2.tar and so on. Returns each with its number of
    runs."""
    runs = runs_in(directory)
    if not runs:
        raise NoRun(f"{directory} holds no run.")
    written: list[tuple[Path, int]] = []
    for number, group in enumerate(_groups(directory, runs, largest), start=1):
        file = out.with_name(f"{out.name}-{number}.tar")
        with writing(file):
            file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, _archive(group))
        written.append((file, len(group)))
    return written


def unpack_runs(files: Sequence[Path], directory: Path) -> dict[str, Change]:
    """Unpack runs below a directory. An existing run is only replaced by one with more epochs."""
    changes: dict[str, Change] = {}
    for file in files:
        for one, content in _packed_runs(file):
            changes[one.place] = _install(one, content, directory)
    return changes


def _groups(directory: Path, runs: Sequence[RunDirectory], largest: int) -> Iterator[list[tuple[_PackedRun, bytes]]]:
    group: list[tuple[_PackedRun, bytes]] = []
    for run in runs:
        one = _PackedRun(run.path.relative_to(directory).as_posix(), epochs_done(run), is_finished(run))
        content = gzip.compress(pack([run.path], without=_excluded), _LEVEL, mtime=0)
        if group and sum(len(other) for _, other in group) + len(content) > largest:
            yield group
            group = []
        group.append((one, content))
    yield group


def _excluded(run: Path) -> list[Path]:
    """Files that are not packed: reports, and all checkpoints that are not needed to resume."""
    checkpoints = sorted((path for path in (run / "checkpoints").glob("*") if path.name.isdigit()), key=_epoch)
    return [run / "report", *(checkpoints if is_finished(RunDirectory(run)) else checkpoints[:-1])]


def _epoch(checkpoint: Path) -> int:
    return int(checkpoint.name)


def _archive(group: Sequence[tuple[_PackedRun, bytes]]) -> bytes:
    index = {"format": _FORMAT, "runs": [asdict(one) for one, _ in group]}
    return packed(index, {one.place: content for one, content in group})


def _packed_runs(file: Path) -> Iterator[tuple[_PackedRun, bytes]]:
    index, contents = unpacked(file, _FORMAT)
    with reading(file):
        for plain in index["runs"]:
            one = _PackedRun(str(plain["place"]), int(plain["epochs"]), bool(plain["finished"]))
            if PurePosixPath(one.place).is_absolute() or ".." in PurePosixPath(one.place).parts:
                raise BadFile(f"{file} is damaged, or this program did not write it: {one.place} leads out of it.")
            yield one, gzip.decompress(contents[one.place])


def _install(one: _PackedRun, content: bytes, directory: Path) -> Change:
    run = RunDirectory(directory / one.place)
    there = run.config_file.exists()
    if there and epochs_done(run) >= one.epochs:
        return "kept"
    with writing(run.path):
        run.path.mkdir(parents=True, exist_ok=True)
    # The lock protects a training that runs there.
    with run.locked():
        unpack(content, run.path.parent)
        if one.finished:
            shutil.rmtree(run.checkpoints, ignore_errors=True)
    return "further" if there else "new"
