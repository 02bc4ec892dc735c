"""The plan of a sweep: its runs, time and disk space, before it starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ascpo.runs.directory import RunDirectory
from ascpo.sweep.estimate import Estimate, duration
from ascpo.sweep.executors.contract import Executor, needs_gpu, side_by_side
from ascpo.sweep.jobs import Job, learned_steps
from ascpo.sweep.scheduler import BatchSizes
from ascpo.sweep.store import is_finished

_BYTES_PER_STEP = 75
"""Size of a checkpoint for each step of the window of the cost critics, measured with Point."""
_CHECKPOINTS = 2
LONG = 3600.0
"""A sweep that takes longer, in seconds, needs a confirmation."""


@dataclass(frozen=True)
class SweepPlan:
    """The size of a sweep."""

    runs: int
    done: int
    batches: int
    """Number of batches of the runs that are not done."""
    on_gpu: int
    """Number of these batches that use MJX."""
    seconds: float
    """Seconds of all trainings, one after another."""
    side_by_side: int
    bytes: float

    @property
    def wall_clock(self) -> float:
        return self.seconds / max(1, min(self.side_by_side, self.batches))

    def sentences(self) -> list[str]:
        left = self.runs - self.done
        kinds = f", {self.on_gpu} of them on a GPU" if self.on_gpu else ""
        found = [f"{self.runs} runs, {self.done} of them finished. {left} to train, in {self.batches} batches{kinds}."]
        if left:
            beside = min(self.side_by_side, self.batches)
            several = f", or {duration(self.wall_clock)} with {beside} at the same time" if beside > 1 else ""
            disk = f"{self.bytes / 1e6:.0f} MB of disk"
            found.append(f"About {duration(self.seconds)} of training{several}, and {disk} at the end.")
        return found


def plan_of(jobs: Sequence[Job], executor: Executor, sizes: BatchSizes, out: Path) -> SweepPlan:
    todo = [job for job in jobs if not job.is_done()]
    estimate, known = Estimate(out), _size_of_finished(out)
    batches = _count_batches(todo, sizes.at_most(executor))
    return SweepPlan(
        runs=len(jobs),
        done=len(jobs) - len(todo),
        batches=sum(batches.values()),
        on_gpu=batches[True],
        seconds=sum(estimate.seconds(job.config, job.epochs_left) for job in todo),
        side_by_side=side_by_side(executor),
        bytes=sum(known or _CHECKPOINTS * _BYTES_PER_STEP * learned_steps(job.config) for job in todo),
    )


def _count_batches(jobs: Sequence[Job], sizes: BatchSizes) -> dict[bool, int]:
    """The number of batches, with a GPU (True) and without one. Runs of one kind can share an engine."""
    kinds: dict[tuple[object, ...], list[Job]] = {}
    for job in jobs:
        kinds.setdefault(tuple(job.config.of_engine.values()), []).append(job)
    found = {True: 0, False: 0}
    for alike in kinds.values():
        found[needs_gpu(alike[0])] += -(-len(alike) // sizes.of(alike[0]))
    return found


def _size_of_finished(out: Path) -> float:
    """Median size of the finished runs, in bytes. 0 if there are none."""
    runs = [file.parent for file in out.glob("*/config.json")]
    sizes = [
        sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
        for run in runs[:100]
        if is_finished(RunDirectory(run))
    ]
    return float(np.median(sizes)) if sizes else 0.0
