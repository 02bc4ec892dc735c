"""The files of a sweep beside its runs, in the directory `.sweep`.

sweep.json        the jobs and their placement, for `ascpo sweep resume` and `status`
driver.lock       the lock of the process that drives the sweep
driver.json       the machine and the process of the driver
utilisation.csv   utilisation of that machine
stop              a request to stop the sweep
"""

import contextlib
import json
import os
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import filelock

from ascpo.runs.directory import NoRun
from ascpo.runs.files import read_json, reading, write_whole, writing
from ascpo.runs.links import refuse_links
from ascpo.runs.serialization import Plain, changed, to_plain
from ascpo.sweep.executors.choose import Placement
from ascpo.sweep.jobs import Job
from ascpo.sweep.scheduler import BatchSizes

_LOOKED_AT = 1.0
"""Timeout of the lock, in seconds: a check for a driver holds it for a moment, too."""


@dataclass(frozen=True)
class SweepDirectory:
    """The directory of a sweep, and its files."""

    out: Path

    @property
    def folder(self) -> Path:
        return self.out / ".sweep"

    def write(self, jobs: Sequence[Job], placement: Placement, batches: BatchSizes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        refuse_links(self.folder)
        plain: Plain = {"placement": to_plain(placement), "batches": to_plain(batches)}
        plain["jobs"] = [job.to_data() for job in jobs]
        write_whole(self.folder / "sweep.json", json.dumps(plain) + "\n")

    def read(self) -> tuple[list[Job], Placement, BatchSizes]:
        file = self.folder / "sweep.json"
        if not file.exists():
            raise NoRun(f"{self.out} holds no sweep. Name the directory that was given to `ascpo sweep` as --out.")
        plain = read_json(file)
        with reading(file):
            jobs = [Job.from_data(data) for data in plain["jobs"]]
            here = [Job(job.config, self.out / job.name, job.evaluation, job.checkpoint_every) for job in jobs]
            sizes = BatchSizes(**plain["batches"])
            return here, changed(Placement(), plain["placement"]), sizes

    @contextlib.contextmanager
    def driving(self) -> Iterator[None]:
        """Lock the sweep for its driver."""
        with writing(self.out):
            self.folder.mkdir(parents=True, exist_ok=True)
        refuse_links(self.folder, self.folder / "driver.lock")
        try:
            lock = filelock.FileLock(self.folder / "driver.lock").acquire(timeout=_LOOKED_AT)
        except filelock.Timeout:
            raise NoRun(
                f"Another process drives the sweep in {self.out}. To see it: ascpo sweep status {self.out}"
            ) from None
        with lock:
            (self.folder / "stop").unlink(missing_ok=True)
            me = {"host": socket.gethostname(), "process": os.getpid()}
            write_whole(self.folder / "driver.json", json.dumps(me) + "\n")
            yield

    def driver(self) -> str:
        """The machine and the process of the driver. Empty if there is none."""
        try:
            with filelock.FileLock(self.folder / "driver.lock").acquire(timeout=0):
                return ""
        except filelock.Timeout:
            file = self.folder / "driver.json"
            # It is written a moment after the lock is taken.
            found = read_json(file) if file.exists() else {}
            return f"process {found.get('process', '?')} on {found.get('host', '?')}"

    def request_stop(self) -> None:
        (self.folder / "stop").touch()

    def stop_requested(self) -> bool:
        return (self.folder / "stop").exists()
