"""The driver of a sweep: runs all jobs on an executor, with progress and a log of utilisation."""

from collections.abc import Sequence

from rich.console import Console

from ascpo.sweep.directory import SweepDirectory
from ascpo.sweep.estimate import Estimate, longest_first
from ascpo.sweep.executors.contract import Executor
from ascpo.sweep.jobs import Job
from ascpo.sweep.progress import ConsoleProgress
from ascpo.sweep.scheduler import BatchSizes, Outcome, run_sweep
from ascpo.sweep.status import LiveProgress
from ascpo.sweep.utilisation import UtilisationLog


def drive(
    directory: SweepDirectory,
    jobs: Sequence[Job],
    executor: Executor,
    sizes: BatchSizes,
    side_by_side: int,
    console: Console,
) -> list[Outcome]:
    """Train all jobs. A terminal shows a live status, other outputs get a line for each event."""
    kind = LiveProgress if console.is_terminal else ConsoleProgress
    estimate = Estimate(directory.out)
    progress, jobs = kind(jobs, estimate, side_by_side, console), longest_first(jobs, estimate)
    try:
        with UtilisationLog(directory.folder):
            return run_sweep(jobs, executor, progress, batches=sizes, stop_requested=directory.stop_requested)
    finally:
        progress.close()
        executor.close()
