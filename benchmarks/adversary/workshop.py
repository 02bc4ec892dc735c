"""Commands in processes of their own, forked from one that has imported everything already.

Nothing has computed anything before the fork: JAX's threads would not survive it.
"""

import ctypes
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.adversary.outcome import Answer

FaultKind = Literal["count", "disk full", "I/O error", "kill", "torn write", "SIGTERM", "SIGINT"]
KINDS: tuple[FaultKind, ...] = ("count", "disk full", "I/O error", "kill", "torn write", "SIGTERM", "SIGINT")
"""In the order of the shim's numbers."""
PATIENCE = 180.0
"""Seconds after which a command hangs."""
_VERBS = ("train", "evaluate", "certify", "report", "journal", "replay", "list", "check", "paper", "video")


@dataclass(frozen=True)
class Fault:
    """A fault at an operation on files below a directory."""

    kind: FaultKind
    at: int
    below: Path


def build_shim(directory: Path) -> Path:
    """Compile the library that strikes. It needs a C compiler."""
    library = directory / "shim.so"
    source = Path(__file__).with_name("shim.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def prepare(cache: Path) -> None:
    """Import everything that commands import, before the first fork."""
    os.environ["MPLBACKEND"] = "agg"
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(cache)
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    for verb in _VERBS:
        importlib.import_module(f"ascpo.cli.{verb}")
    for module in ("orbax.checkpoint", "matplotlib.figure", "matplotlib.backends.backend_agg", "scipy.stats"):
        importlib.import_module(module)
    from ascpo.replay.serve import Replay

    Replay.run = lambda self: None  # A page that nobody looks at is not kept open.


def call(words: Sequence[str], fault: Fault | None = None, patience: float = PATIENCE) -> Answer:
    """Run a command line and wait for it."""
    with tempfile.TemporaryDirectory() as scratch:
        said, complained, counted = (Path(scratch) / name for name in ("out", "err", "count"))
        child = os.fork()
        if child == 0:
            _become(words, fault, said, complained, counted)
        status = _wait(child, patience)
        operations = int(counted.read_text()) if counted.exists() else 0
        return Answer(status, said.read_text(errors="replace"), complained.read_text(errors="replace"), "", operations)


def _wait(child: int, patience: float) -> int:
    """The exit status; negative for a signal, and for a command that hung."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGALRM


def _become(words: Sequence[str], fault: Fault | None, said: Path, complained: Path, counted: Path) -> None:
    """Be the command: never returns."""
    status = 1
    try:
        for path, number in ((said, 1), (complained, 2)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if fault:
            shim = ctypes.CDLL(None)
            shim.adversary_arm(str(fault.below).encode(), fault.at, KINDS.index(fault.kind))
        from ascpo.cli.main import main

        sys.argv = ["ascpo", *words]
        try:
            main()
            status = 0
        finally:
            if fault:
                counted.write_text(str(shim.adversary_count()))
                shim.adversary_arm(b"", 0, 0)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)
