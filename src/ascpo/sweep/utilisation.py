"""Utilisation of the cores and GPUs of the driver's machine, sampled every few seconds.

If cores or GPUs were idle, the sweep could have had more batches at the same time (--jobs, --gpus), or batches on the
host and on the GPU together: grids with `engine = "native"` and `engine = "mjx"` in one file.
"""

import contextlib
import csv
import itertools
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from ascpo.sweep.estimate import duration
from ascpo.sweep.nvidia import reported_by_gpus

FILE = "utilisation.csv"
_EVERY = 5.0
"""Seconds between two samples."""
_WIDTH = 60
"""Characters of a picture."""
_LEVELS = "▁▂▃▄▅▆▇█"


class Sample(NamedTuple):
    """Shares of the time since the sample before, from 0 to 1."""

    time: float
    """When it was taken, in seconds since 1970."""
    cores: float
    gpus: float | None
    """The mean of all GPUs; None without one."""


class UtilisationLog:
    """Writes samples into a folder while it is open. A resumed sweep appends to them."""

    def __init__(self, folder: Path, every: float = _EVERY) -> None:
        self._file, self._every = folder / FILE, every
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> "UtilisationLog":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closing.set()
        self._thread.join()

    def _write(self) -> None:
        asks, before = True, _core_seconds()
        while not self._closing.wait(self._every):
            gpus = _gpus() if asks else None
            asks, now = gpus is not None, _core_seconds()
            if before is None or now is None:
                return
            cores, before = _share(before, now), now
            new = not self._file.exists()
            # On a full disk, samples are lost, and the sweep goes on.
            with contextlib.suppress(OSError), self._file.open("a", newline="") as file:
                rows = csv.writer(file)
                if new:
                    rows.writerow(Sample._fields)
                rows.writerow([f"{time.time():.1f}", f"{cores:.3f}", "" if gpus is None else f"{gpus:.3f}"])


def read_utilisation(folder: Path) -> list[Sample]:
    """All samples of a sweep, the oldest first. Rows that were cut off are left out."""
    file = folder / FILE
    if not file.exists():
        return []
    found: list[Sample] = []
    for row in csv.reader(file.read_text(errors="replace").splitlines()):
        with contextlib.suppress(ValueError):
            at, cores, gpus = row
            found.append(Sample(float(at), float(cores), float(gpus) if gpus else None))
    return found


def sentences(samples: Sequence[Sample]) -> list[str]:
    """Sentences about the utilisation of cores and GPUs, with a plot over time. Empty without samples."""
    found: list[str] = []
    for name, shares in (
        ("cores", [sample.cores for sample in samples]),
        ("GPUs", [sample.gpus for sample in samples if sample.gpus is not None]),
    ):
        if shares:
            mean, seconds = sum(shares) / len(shares), samples[-1].time - samples[0].time
            found.append(f"{name:<5} {_picture(shares)} {mean:.0%} busy in the mean of {duration(seconds)}")
    return found


def _picture(shares: Sequence[float]) -> str:
    """A bar for each of at most sixty equal parts of the time."""
    parts = min(_WIDTH, len(shares))
    edges = [len(shares) * part // parts for part in range(parts + 1)]
    means = [sum(shares[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]
    return "".join(_LEVELS[min(len(_LEVELS) - 1, int(mean * len(_LEVELS)))] for mean in means)


def _core_seconds() -> tuple[float, float] | None:
    """The busy time and the total time of the cores that this process may use. None if the system does not say."""
    try:
        lines = Path("/proc/stat").read_text().splitlines()
        mine = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    except (AttributeError, OSError):
        return None
    # user, nice, system, idle, waiting for a disk, interrupts, soft interrupts, stolen by another virtual machine
    times = [list(map(float, line.split()[1:9])) for line in lines if line.split()[0] in mine]
    rested, passed = (sum(row[3] + row[4] for row in times), sum(map(sum, times)))
    return passed - rested, passed


def _share(before: tuple[float, float], now: tuple[float, float]) -> float:
    busy, passed = (later - earlier for earlier, later in zip(before, now, strict=True))
    return min(1.0, max(0.0, busy / passed)) if passed > 0 else 0.0


def _gpus() -> float | None:
    """The mean utilisation of the GPUs, as reported by their driver. None without one."""
    shares = [percent / 100.0 for percent in reported_by_gpus("utilization.gpu")]
    return sum(shares) / len(shares) if shares else None
