"""Packing runs into bytes, for machines without a shared file system."""

import contextlib
import io
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

from ascpo.runs.directory import INCOMING
from ascpo.runs.files import CannotWrite

LARGEST = 2**28
"""Largest number of bytes of a batch that is sent."""
UNPACKING = ".unpacking"
"""A file that marks a run as long as some of its files are not unpacked yet."""
_LEFT_HERE = (".lock", ".claim", ".clock", UNPACKING)
_TRIES = 5


def pack(
    directories: Sequence[Path], without: Callable[[Path], Collection[Path]] = lambda _: (), *, sent: bool = True
) -> bytes:
    """The files of runs, with their checkpoints. Directories that do not exist yet are left out.

    `without` names paths in a run's directory that are left out as well. Only what is `sent` has a limit.
    """
    for _ in range(_TRIES):
        # A training may remove its oldest checkpoint meanwhile.
        with contextlib.suppress(FileNotFoundError):
            return _packed(directories, without, sent)
    return _packed(directories, without, sent)


def unpack(content: bytes, folder: Path) -> None:
    """Unpack runs into a folder. Each file is replaced atomically, and checkpoints after their tables."""
    if not content:
        return
    with tempfile.TemporaryDirectory(prefix=INCOMING, dir=folder) as incoming:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            archive.extractall(incoming, filter="data")
        for run in Path(incoming).iterdir():
            (folder / run.name / "checkpoints").mkdir(parents=True, exist_ok=True)
            checkpoints = {path.name: path for path in (run / "checkpoints").glob("*")}
            for file in (path for path in run.iterdir() if path.is_file()):
                file.replace(folder / run.name / file.name)
            present = {path.name: path for path in (folder / run.name / "checkpoints").iterdir()}
            for name in checkpoints.keys() - present.keys():
                checkpoints[name].rename(folder / run.name / "checkpoints" / name)
            for name in present.keys() - checkpoints.keys():
                shutil.rmtree(present[name])


def _packed(directories: Sequence[Path], without: Callable[[Path], Collection[Path]], sent: bool) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for directory in directories:
            if directory.is_dir():
                absent = {str(path.relative_to(directory.parent)) for path in without(directory)}
                archive.add(directory, directory.name, filter=partial(_kept, absent=absent))
    content = packed.getvalue()
    if sent and len(content) > LARGEST:
        raise CannotWrite(
            f"The files of {directories[0].name} have {len(content) >> 20} MB, and at most {LARGEST >> 20} MB are sent."
            f" Use smaller batches, or a shared file system."
        )
    return content


def _kept(member: tarfile.TarInfo, absent: Collection[str]) -> tarfile.TarInfo | None:
    if member.name in absent:
        return None
    name = Path(member.name).name
    return None if name.startswith(_LEFT_HERE) or name.endswith(".part") or "orbax-checkpoint-tmp" in name else member
