"""Files: atomic writes, and errors that name the file."""

import contextlib
import csv
import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from ascpo.runs.links import no_follow, refuse_links
from ascpo.runs.serialization import Plain

_CODES = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG, errno.EACCES, errno.EPERM)
"""System errors that a library's long message may contain."""
_BAD = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, ArithmeticError, MemoryError)
"""Exceptions of parsers for malformed content."""


class NoRun(ValueError):
    """A directory that holds no run, or that must not be written to."""


class BadFile(NoRun):
    """A file that is damaged, or that this program did not write. The message names it."""


class CannotWrite(OSError):
    """A file could not be written. The message names it and says why."""


@contextlib.contextmanager
def reading(path: Path, verdict: str = "is damaged, or this program did not write it") -> Iterator[None]:
    """Turn exceptions while a file is read into a `BadFile` that names it."""
    from safetensors import SafetensorError

    try:
        yield
    except BadFile:
        raise
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {reason_of(error)}.") from error
    except (*_BAD, SafetensorError, csv.Error) as error:
        raise BadFile(f"{path} {verdict}: {reason_of(error).rstrip('.')}.") from error


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failed write into a `CannotWrite` that names the file."""
    try:
        yield
    except CannotWrite:
        raise
    except OSError as error:
        raise CannotWrite(f"{path} could not be written: {reason_of(error)}.") from error


def reason_of(error: BaseException) -> str:
    """A short reason for an error, even if a library's message is long."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, KeyError):
        return f"it has no {error}"
    text = str(error)
    for code in _CODES:
        if os.strerror(code) in text:
            return os.strerror(code)
    first = (text.splitlines() or [type(error).__name__])[0]
    return first if len(first) < 200 else first[:200] + " …"


def read_json(path: Path) -> Plain:
    """The dictionary in a JSON file."""
    with reading(path):
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("it does not hold a dictionary")
        return found


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically, and sync it to the disk."""
    write_together({path: content})


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Write files of one directory. Files are replaced only once all are on the disk, in the given order."""
    parts = {path: path.with_name(path.name + ".part") for path in contents}
    refuse_links(*parts, *parts.values())
    try:
        for path, content in contents.items():
            with writing(path), open_to_write(parts[path]) as file:
                write_all(file, content.encode() if isinstance(content, str) else content)
                os.fsync(file.fileno())
    except BaseException:
        for part in parts.values():
            with contextlib.suppress(OSError):
                part.unlink()
        raise
    for path, part in parts.items():
        with writing(path):
            os.replace(part, path)
            sync_directory(path.parent)


def open_to_write(path: Path, *, keep: bool = False) -> BinaryIO:
    """Open a file without a buffer, so that a failing write raises at once. Links are not followed."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | (os.O_APPEND if keep else os.O_TRUNC)
    return os.fdopen(no_follow(str(path), flags), "r+b", buffering=0)


def write_all(file: BinaryIO, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


def sync_directory(path: Path) -> None:
    """Sync the entries of a directory to the disk, if the system can."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sync_tree(path: Path) -> None:
    """Sync a directory and everything below it to the disk."""
    for folder, _, names in os.walk(path):
        for name in names:
            descriptor = os.open(Path(folder) / name, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_directory(Path(folder))


def checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
