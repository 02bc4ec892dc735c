"""Transfer of runs to another machine: a directory of runs in few files of limited size.

Finished runs are packed without checkpoints, unfinished ones with their last. Each file is a tar archive with an index
and a compressed archive of every run. Files can be unpacked in any order, and repeatedly, also after an interruption.
"""

import contextlib
import gzip
import io
import json
import shutil
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal

from ascpo.runs.archives import packed, unpacked
from ascpo.runs.config import Config
from ascpo.runs.directory import RunDirectory, runs_in
from ascpo.runs.files import BadFile, NoRun, reading, write_whole, writing
from ascpo.runs.sealed import SEAL
from ascpo.runs.serialization import differences
from ascpo.sweep.executors.packing import UNPACKING, pack, unpack
from ascpo.sweep.store import epochs_done, is_trained

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
    """Whether all epochs are done and the final policy is saved."""


Change = Literal["new", "further", "kept"]
"""What unpacking did: the run is new, it replaced an earlier state (`further`), or the existing one was kept."""


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
    """Unpack runs below a directory. An existing run is only replaced by a more advanced state of itself."""
    changes: dict[str, Change] = {}
    for file in files:
        for one, content in _packed_runs(file):
            changes[one.place] = _install(one, content, directory, file)
    return changes


def _groups(directory: Path, runs: Sequence[RunDirectory], largest: int) -> Iterator[list[tuple[_PackedRun, bytes]]]:
    group: list[tuple[_PackedRun, bytes]] = []
    for run in runs:
        one = _PackedRun(run.path.relative_to(directory).as_posix(), epochs_done(run), is_trained(run))
        content = gzip.compress(pack([run.path], without=partial(_excluded, one), sent=False), _LEVEL, mtime=0)
        if group and sum(len(other) for _, other in group) + len(content) > largest:
            yield group
            group = []
        group.append((one, content))
    yield group


def _excluded(one: _PackedRun, run: Path) -> list[Path]:
    """Files that are not packed: reports, and all checkpoints that are not needed to resume."""
    checkpoints = sorted((path for path in (run / "checkpoints").glob("*") if path.name.isdigit()), key=_epoch)
    return [run / "report", *(checkpoints if one.finished else checkpoints[:-1])]


def _epoch(checkpoint: Path) -> int:
    return int(checkpoint.name)


def _archive(group: Sequence[tuple[_PackedRun, bytes]]) -> bytes:
    index = {"format": _FORMAT, "runs": [asdict(one) for one, _ in group]}
    return packed(index, {one.place: content for one, content in group})


def _packed_runs(file: Path) -> Iterator[tuple[_PackedRun, bytes]]:
    index, contents = unpacked(file, _FORMAT)
    with reading(file), _decoding(file):
        for plain in index["runs"]:
            one = _PackedRun(str(plain["place"]), int(plain["epochs"]), bool(plain["finished"]))
            if PurePosixPath(one.place).is_absolute() or ".." in PurePosixPath(one.place).parts:
                raise BadFile(f"{file} is damaged, or this program did not write it: {one.place} leads out of it.")
            yield one, gzip.decompress(contents[one.place])


@contextlib.contextmanager
def _decoding(file: Path) -> Iterator[None]:
    """Turn the errors of damaged archives into a `BadFile`."""
    try:
        yield
    except (tarfile.TarError, zlib.error, EOFError) as error:
        raise BadFile(f"{file} is damaged, or this program did not write it: {error}.") from error


def _install(one: _PackedRun, content: bytes, directory: Path, file: Path) -> Change:
    run = RunDirectory(directory / one.place)
    there, interrupted = run.config_file.exists(), run.path / UNPACKING
    whole = not interrupted.exists()
    if there:
        with reading(file), _decoding(file):
            config = _config_in(content)
        _check_same_run(run, config)
        if (epochs_done(run), whole and is_trained(run), whole) >= (one.epochs, one.finished, True):
            return "kept"
    with writing(run.path):
        run.path.mkdir(parents=True, exist_ok=True)
    # The lock protects a training that runs there.
    with run.locked(), writing(run.path), _decoding(file):
        write_whole(interrupted, "")
        unpack(content, run.path.parent)
        if one.finished:
            shutil.rmtree(run.checkpoints, ignore_errors=True)
        interrupted.unlink()
    return "further" if there else "new"


def _config_in(content: bytes) -> Config:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        place = next(name for name in archive.getnames() if name.count("/") == 1 and name.endswith("/config.json"))
        stored = archive.extractfile(place)
        plain = json.loads(stored.read()) if stored else {}
    return Config.from_plain({name: value for name, value in plain.items() if name != SEAL})


def _check_same_run(run: RunDirectory, packed_config: Config) -> None:
    """Raise an error if the packed run has other settings than the one that is there."""
    try:
        present = run.config()
    except NoRun:
        return  # A damaged one is restored.
    if present.fingerprint != packed_config.fingerprint:
        name, (there, here) = next(iter(differences(packed_config, present).items()))
        raise NoRun(
            f"{run.path} is another run than the packed one, which has {name}={there} instead of {here}. Move it away, "
            f"or unpack into another --out."
        )
