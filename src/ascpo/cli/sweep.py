"""`ascpo sweep`, `sweep status`, `sweep stop`, `sweep resume`: train a grid of runs, here or on a cluster."""

import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from ascpo.cli.parsing import parsed
from ascpo.cli.usage import WrongUsage
from ascpo.errors import nearest
from ascpo.ranges import Range
from ascpo.runs.serialization import BadSetting
from ascpo.runs.stopping import Stopped, Stopping
from ascpo.runs.trust import trusted
from ascpo.sweep.directory import SweepDirectory
from ascpo.sweep.driver import drive
from ascpo.sweep.estimate import Estimate, duration
from ascpo.sweep.evaluation import HeldOutEpisodes
from ascpo.sweep.executors.choose import Placement, open_executor
from ascpo.sweep.executors.contract import UNLIMITED
from ascpo.sweep.executors.gpu_sharing import leave_gpu_to_workers
from ascpo.sweep.grid import Grid, grids_in
from ascpo.sweep.jobs import Job
from ascpo.sweep.plan import LONG, plan_of
from ascpo.sweep.scheduler import BatchSizes, Outcome
from ascpo.sweep.status import status_of
from ascpo.sweep.utilisation import read_utilisation, sentences

_STOP_TIME = 300.0
"""Seconds that `sweep stop` waits for the driver."""


@dataclass(frozen=True)
class Sweep:
    """Train every combination of environments, algorithms, presets, settings and seeds.

    The plan comes first, with the time that it takes; --dry stops there. Each run gets a directory in --out. `ascpo
    sweep status DIRECTORY` shows how far a sweep is, `ascpo sweep stop DIRECTORY` stops it, and `ascpo sweep resume
    DIRECTORY` continues it. Next: `ascpo report DIRECTORY` compares the runs.
    """

    file: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE]")] = None
    """A TOML file with one or several grids ([[grid]]). Its names are those of the flags below."""
    grid: Annotated[Grid, tyro.conf.arg(name="")] = field(default_factory=Grid)
    placement: Annotated[Placement, tyro.conf.arg(name="")] = field(default_factory=Placement)
    batch: Annotated[int, Range(at_least=0, at_most=1000)] = 0
    """The largest number of runs that train as one batch in one engine. 0 lets runs of MJX train together if they can,
    and runs of the native engine alone."""
    evaluate: Annotated[int, Range(at_least=0, at_most=10**7)] = 500
    """Evaluate each final policy on this many fresh episodes. 0 skips the evaluation."""
    checkpoint_every: Annotated[float, Range(at_least=0.0, at_most=1e12)] = 60.0
    """Seconds between two checkpoints of a run. 0 writes one after every epoch."""
    out: Path = Path("runs/sweep")
    """The directory of the sweep. Each run has its own directory in it."""
    dry: bool = False
    """Print the plan only."""
    yes: bool = False
    """Begin without a question, however long it takes."""

    def jobs(self) -> list[Job]:
        if self.file is not None and self.grid != Grid():
            raise BadSetting(f"{self.file} and other flags both say what to train. Write all of it into the file.")
        if self.file is not None and not self.file.is_file():
            hint = nearest(str(self.file), ("status", "stop", "resume"))
            raise BadSetting(f"There is no file {self.file}. Name a TOML file with grids, or a verb. {hint}")
        grids = [self.grid] if self.file is None else grids_in(self.file)
        evaluation = HeldOutEpisodes(0, self.evaluate) if self.evaluate else None
        found: dict[str, Job] = {}
        for name, config in (pair for grid in grids for pair in grid.configs()):
            job = Job(config, self.out / name, evaluation, self.checkpoint_every)
            if found.setdefault(name, job) != job:
                raise BadSetting(f"Two grids have a run named {name}. Make two sweeps, each with its own --out.")
        return list(found.values())

    def sizes(self) -> BatchSizes:
        return BatchSizes(self.batch, self.batch) if self.batch else BatchSizes(1, UNLIMITED)


@dataclass(frozen=True)
class Directory:
    """A sweep that was started before."""

    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIRECTORY")]
    """The sweep's directory, given as --out when it was started."""


@dataclass(frozen=True)
class Status(Directory):
    """Show how many runs of a sweep are done, running, failed and waiting, and how long the rest takes.

    Next: `ascpo sweep stop DIRECTORY`, `ascpo sweep resume DIRECTORY`, or `ascpo report DIRECTORY` for what is done.
    """


@dataclass(frozen=True)
class Stop(Directory):
    """Stop a sweep, once what is running has been saved.

    Next: `ascpo sweep resume DIRECTORY` continues it.
    """


@dataclass(frozen=True)
class Resume(Directory):
    """Train the runs that are missing in a sweep. Runs that failed are tried again.

    Next: `ascpo report DIRECTORY` compares the runs.
    """

    trust_env: bool = False
    """Import and run the code that the sweep's files name as an environment."""
    on: str = ""
    """The machines. The default is those of the sweep so far."""
    yes: bool = False
    """Begin without a question, however long it takes."""


def main(typed: list[str]) -> None:
    match typed:
        case ["status", *rest]:
            _status(parsed(Status, rest, "ascpo sweep status").out)
        case ["stop", *rest]:
            _stop(parsed(Stop, rest, "ascpo sweep stop").out)
        case ["resume", *rest]:
            _resume(parsed(Resume, rest, "ascpo sweep resume"))
        case _:
            leave_gpu_to_workers()
            asked = parsed(Sweep, typed, "ascpo sweep")
            _run(SweepDirectory(asked.out), asked.jobs(), asked.placement, asked.sizes(), yes=asked.yes, dry=asked.dry)


def _resume(asked: Resume) -> None:
    directory = SweepDirectory(asked.out)
    jobs, placement, sizes = directory.read()
    for env in {job.config.env for job in jobs}:
        trusted(env, trust_env=asked.trust_env)
    _run(directory, jobs, placement.moved(asked.on) if asked.on else placement, sizes, yes=asked.yes)


def _run(
    directory: SweepDirectory,
    jobs: Sequence[Job],
    placement: Placement,
    sizes: BatchSizes,
    *,
    yes: bool,
    dry: bool = False,
) -> None:
    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    placement.check(jobs)
    with directory.driving():
        executor = open_executor(placement, jobs, directory.folder)
        plan = plan_of(jobs, executor, sizes, directory.out)
        for sentence in plan.sentences():
            console.print(sentence, markup=False)
        if dry:
            executor.close()
            return
        if plan.wall_clock > LONG and not yes:
            _ask(plan.wall_clock, console)
        directory.write(jobs, placement, sizes)
        try:
            with Stopping() as stopping, stopping.work():
                outcomes = drive(directory, jobs, executor, sizes, plan.side_by_side, console)
        except Stopped as stopped:
            command = shlex.join(["ascpo", "sweep", "resume", str(directory.out)])
            console.print(f"Stopped by {stopped}. Finished epochs are saved. To continue: {command}", markup=False)
            sys.exit(128 + stopped.number)
    _tell_utilisation(directory, console)
    _tell(outcomes, directory.out, console)


def _tell_utilisation(directory: SweepDirectory, console: Console) -> None:
    """How busy the machine of the driver was."""
    for sentence in sentences(read_utilisation(directory.folder)):
        console.print(sentence, markup=False)


def _ask(seconds: float, console: Console) -> None:
    if not sys.stdin.isatty():
        raise WrongUsage(f"this takes about {duration(seconds)}. Add --yes to start without a question.")
    if console.input("Begin? [y/N] ").strip().lower() not in ("y", "yes"):
        sys.exit(1)


def _tell(outcomes: Sequence[Outcome], out: Path, console: Console) -> None:
    counts = {status: sum(one.status == status for one in outcomes) for status in ("trained", "present", "failed")}
    console.print(f"{counts['trained']} trained, {counts['present']} finished before, {counts['failed']} failed.")
    for one in outcomes:
        if one.status == "failed":
            console.print(f"  {one.job.name}: {one.error}", markup=False)
    console.print(f"To compare them: ascpo report {shlex.quote(str(out))}", markup=False)
    if counts["failed"]:
        sys.exit(1)


def _status(out: Path) -> None:
    directory = SweepDirectory(out)
    jobs, placement, _ = directory.read()
    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=160)
    driver = directory.driver()
    state = f"driven by {driver}" if driver else "no driver is running"
    console.print(f"{out} on {placement.on}: {state}.", markup=False)
    console.print(status_of(jobs, Estimate(out)).picture())
    _tell_utilisation(directory, console)


def _stop(out: Path) -> None:
    directory = SweepDirectory(out)
    _, placement, _ = directory.read()
    if directory.driver():
        directory.request_stop()
        end = time.monotonic() + _STOP_TIME
        while directory.driver() and time.monotonic() < end:
            time.sleep(0.5)
        if directory.driver():
            raise BadSetting(
                f"{out} has not stopped within {duration(_STOP_TIME)}. Its driver is {directory.driver()}. Try again, "
                "or end that process."
            )
        print(f"Stopped. To continue: ascpo sweep resume {shlex.quote(str(out))}")
        return
    if placement.kind == "slurm":
        # Opening the executor cancels the jobs that a lost driver has left.
        open_executor(placement, [], directory.folder).close()
    print(f"No driver of the sweep in {out} is running.")
