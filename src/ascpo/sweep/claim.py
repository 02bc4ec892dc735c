"""Claims: which machine trains a run, for shared file systems without locks between machines.

A claim is a file in the run's directory that its worker touches every few seconds. A claim of this machine is valid
while its process lives, and one of another machine until it has not been touched for a minute. A worker whose claim was
replaced, or that has not reached the file system for a minute, exits at once, without writing anything more.
"""

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ascpo.runs.directory import NoRun
from ascpo.runs.files import write_whole
from ascpo.runs.links import refuse_links

_HEARTBEAT = 5.0
STALE = 60.0
"""Seconds after which a claim that is not touched expires."""
_CLAIM_TIMEOUT = 90.0
"""Seconds that a worker waits for the claim of another one to expire."""
LOST_CLAIM = 75
"""The exit status of a worker that has lost its claim."""


@dataclass(frozen=True)
class Claim:
    """The claim of a worker on a run."""

    host: str
    token: str
    process: int = 0
    """The number of the worker's process. 0 if it is unknown."""

    def is_alive(self) -> bool:
        """Whether its process lives, if it is of this machine. In doubt it does not."""
        try:
            os.kill(self.process, 0)
        except PermissionError:
            return True
        except OSError:
            return False
        return self.process > 0

    @staticmethod
    def of(directory: Path) -> "Claim | None":
        """The valid claim on a run, if there is one."""
        file = _file(directory)
        try:
            content = json.loads(file.read_text())
            claim = Claim(str(content["host"]), str(content["token"]), int(content.get("process", 0)))
            return claim if _now(directory) - file.stat().st_mtime < STALE else None
        except (OSError, ValueError, TypeError, KeyError):
            return None


@contextlib.contextmanager
def claimed(directories: Sequence[Path]) -> Iterator[None]:
    """Claim runs, wait for earlier claims to end, and keep the claims alive."""
    mine = Claim(socket.gethostname(), uuid.uuid4().hex, os.getpid())
    for directory in directories:
        directory.mkdir(parents=True, exist_ok=True)
        _take(directory, mine)
    done = threading.Event()
    threading.Thread(target=_keep_alive, args=(directories, mine, done), daemon=True).start()
    try:
        yield
    finally:
        done.set()
        for directory in directories:
            with contextlib.suppress(OSError):
                if _holds(directory, mine):
                    _file(directory).unlink()


def _take(directory: Path, mine: Claim) -> None:
    end = time.monotonic() + _CLAIM_TIMEOUT
    while not _write(directory, mine):
        if (other := Claim.of(directory)) is None or (other.host == mine.host and not other.is_alive()):
            _replace(directory, mine)
            return
        if time.monotonic() > end:
            raise NoRun(f"{directory} is being trained on {other.host}. Run this command again when it has ended.")
        time.sleep(1.0)


def _write(directory: Path, mine: Claim) -> bool:
    """Write a claim atomically, if there is none."""
    part = directory / f".claim-{mine.token}"
    part.write_text(json.dumps(asdict(mine)))
    try:
        os.link(part, _file(directory))
        return True
    except FileExistsError:
        return False
    finally:
        part.unlink()


def _replace(directory: Path, mine: Claim) -> None:
    """Replace an expired claim. If two workers do so at the same time, one of them gets an error."""
    refuse_links(_file(directory))
    before = Claim.of(directory)
    write_whole(_file(directory), json.dumps(asdict(mine)))
    if before is None:
        time.sleep(1.0)
    if not _holds(directory, mine):
        raise NoRun(f"{directory} was claimed by another machine at the same moment. Run this command again later.")


def _keep_alive(directories: Sequence[Path], mine: Claim, done: threading.Event) -> None:
    touched = time.monotonic()
    while not done.wait(_HEARTBEAT):
        try:
            # A worker that was suspended until its claim expired goes on, unless the claim was replaced meanwhile.
            if all(_holds(directory, mine) for directory in directories):
                for directory in directories:
                    os.utime(_file(directory))
                touched = time.monotonic()
                continue
        except OSError:
            # While the file system is out of reach, another machine may see the claim expire.
            if time.monotonic() - touched < STALE:
                continue
        if not done.is_set():
            os._exit(LOST_CLAIM)


def _holds(directory: Path, mine: Claim) -> bool:
    try:
        return json.loads(_file(directory).read_text())["token"] == mine.token
    except (ValueError, TypeError, KeyError):
        return False


def _file(directory: Path) -> Path:
    return directory / ".claim"


def _now(directory: Path) -> float:
    """The time of the file system, which does not depend on the clocks of the machines."""
    probe = directory / f".clock-{uuid.uuid4().hex}"
    try:
        probe.touch()
        return probe.stat().st_mtime
    finally:
        probe.unlink(missing_ok=True)
