"""Assignments: a batch as data for another machine, and its training there."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import filelock

from ascpo.sweep.executors.contract import End
from ascpo.sweep.executors.gpu_sharing import share_of_gpu
from ascpo.sweep.executors.packing import pack, unpack
from ascpo.sweep.executors.process import end_of, my_cores, start
from ascpo.sweep.jobs import Batch, Job

_SLOW_FILES = 30.0
"""Seconds until all machines see a file that one of them has written."""
_SENT_EVERY = 30.0
"""Seconds after which a worker without a shared file system sends its runs again."""


@dataclass(frozen=True)
class Assignment:
    """A batch as plain data."""

    jobs: tuple[list[object], ...]
    threads: int
    marker: str
    """A file of the driver that this machine sees if they share a file system. Empty if files are sent instead."""
    files: bytes = b""
    """The packed runs, if files are sent."""
    version: str = ""
    gpus: float = 0.0
    """GPUs of the batch. With a fraction of a GPU, the batch gets that fraction of its memory."""

    @staticmethod
    def of(batch: Batch, threads: int, marker: Path | None, gpus: float = 0.0) -> "Assignment":
        jobs = [replace(job, directory=job.directory.absolute()) for job in batch]
        files = b"" if marker else pack([job.directory for job in batch])
        data = tuple(job.to_data() for job in jobs)
        return Assignment(data, threads, str(marker.absolute()) if marker else "", files, version("ascpo"), gpus)

    def environment(self) -> dict[str, str]:
        """The environment variables of the process that trains."""
        if not self.gpus:
            return {"JAX_PLATFORMS": "cpu"}
        return share_of_gpu(self.gpus) if self.gpus < 1 else {}

    def batch(self) -> Batch:
        return tuple(map(Job.from_data, self.jobs))


def train_here(assignment: Assignment, send: Callable[[bytes], None] | None = None) -> End:
    """Train a batch in a process of this machine, and wait for it. When interrupted, it saves and ends."""
    if (installed := version("ascpo")) != assignment.version:
        return End(f"this machine has ascpo {installed}, but the sweep has {assignment.version}. Install that version.")
    batch = assignment.batch()
    with contextlib.ExitStack() as stack:
        if assignment.marker:
            if not _appears(Path(assignment.marker)):
                return End(
                    f"this machine does not see {assignment.marker}. Use a shared directory as --out, or --files sent"
                )
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ascpo-")))
            unpack(assignment.files, folder)
            batch = tuple(replace(job, directory=folder / job.name) for job in batch)
        # A batch on a GPU compiles on all cores for minutes, and then hardly needs any.
        cores = () if assignment.gpus else stack.enter_context(reserved_cores(assignment.threads))
        process = start(batch, assignment.threads, cores, assignment.environment())
        try:
            sent = time.monotonic()
            while process.poll() is None:
                time.sleep(0.1)
                if send and time.monotonic() - sent > _SENT_EVERY:
                    send(pack([job.directory for job in batch]))
                    sent = time.monotonic()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
            if send:
                send(pack([job.directory for job in batch]))
        return end_of(batch, process.returncode)


@contextlib.contextmanager
def reserved_cores(number: int) -> Iterator[list[int]]:
    """Reserve cores of this machine. If too few are free, they are shared with other batches.

    Ray counts cores, but does not assign them. Their number is always the same, because the order of XLA's sums
    depends on it.
    """
    folder = Path(tempfile.gettempdir()) / "ascpo-cores"
    folder.mkdir(exist_ok=True, mode=0o777)
    with contextlib.ExitStack() as stack:
        mine: list[int] = []
        for core in my_cores():
            with contextlib.suppress(filelock.Timeout, OSError):
                lock = filelock.FileLock(folder / f"{core}.lock", mode=0o666)
                stack.enter_context(lock.acquire(timeout=0))
                mine.append(core)
            if len(mine) == number:
                break
        others = [core for core in my_cores() if core not in mine]
        yield mine + others[: number - len(mine)]


def _appears(file: Path) -> bool:
    end = time.monotonic() + _SLOW_FILES
    while not file.exists():
        if time.monotonic() > end:
            return False
        time.sleep(0.5)
    return True
