"""Drive a sweep from its plan to its end, on whatever machines."""

from collections.abc import Sequence

from rich.console import Console

from ascpo.sweep.board import LiveBoard
from ascpo.sweep.estimate import Estimate
from ascpo.sweep.executors.contract import Executor
from ascpo.sweep.jobs import Job
from ascpo.sweep.progress import ConsoleProgress
from ascpo.sweep.record import Record
from ascpo.sweep.scheduler import BatchSizes, Outcome, run_sweep
from ascpo.sweep.utilisation import UtilisationLog


def drive(
    record: Record, jobs: Sequence[Job], executor: Executor, sizes: BatchSizes, side_by_side: int, console: Console
) -> list[Outcome]:
    """Train all jobs. On a terminal there is a live board, elsewhere a line for each event."""
    kind = LiveBoard if console.is_terminal else ConsoleProgress
    progress = kind(jobs, Estimate(record.out), side_by_side, console)
    try:
        with UtilisationLog(record.folder):
            return run_sweep(jobs, executor, progress, batches=sizes, is_to_stop=record.is_to_stop)
    finally:
        progress.close()
        executor.close()
