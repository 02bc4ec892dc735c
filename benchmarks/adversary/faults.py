"""Faults while a command works: of the disk, of the process, of the environment. Afterwards it is run again."""

import os
import random
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.adversary.environments import FAULTS, WORKER_FAULTS
from benchmarks.adversary.outcome import Answer, Try, last_line
from benchmarks.adversary.subject import EPOCH, EPOCHS, TRAIN, copy, run_verb, verbs
from benchmarks.adversary.workshop import KINDS, Fault, FaultKind

DISK: tuple[FaultKind, ...] = KINDS[1:]
JOBS = ("train", "resume", "evaluate", "certify", "report")
_DEATHS = {"kill": -signal.SIGKILL, "torn write": -signal.SIGKILL, "SIGTERM": -signal.SIGTERM, "SIGINT": -signal.SIGINT}
"""How a process may die of a fault, besides what it says itself."""


@dataclass(frozen=True)
class DiskFault:
    """A fault at an operation of a job on files."""

    job: str
    kind: FaultKind
    at: int

    def __str__(self) -> str:
        return f"{self.job}: {self.kind} at file operation {self.at}"


@dataclass(frozen=True)
class EnvironmentFault:
    """A fault of the environment in a step of a training."""

    kind: str
    at: int
    processes: bool = False

    def __str__(self) -> str:
        return f"train{' --processes' * self.processes}: {self.kind} in step {self.at}"


def plan(count: int, seed: int, operations: dict[str, int]) -> list[DiskFault | EnvironmentFault]:
    """So many faults: a sixth of them of the environment, the others spread over all operations of all jobs."""
    rng = random.Random(seed)
    steps = EPOCHS * EPOCH // 4
    kinds = [(kind, False) for kind in FAULTS] + [(kind, True) for kind in (*FAULTS[:5], *WORKER_FAULTS)]
    found: list[DiskFault | EnvironmentFault] = []
    for number in range(count // 6):
        kind, processes = kinds[number % len(kinds)]
        found.append(EnvironmentFault(kind, rng.randint(1, steps), processes))
    spread: list[tuple[str, FaultKind]] = [(job, kind) for job in JOBS for kind in DISK]
    rng.shuffle(spread)
    weights = [operations[job] ** 0.5 for job, _ in spread]
    for job, kind in rng.choices(spread, weights, k=count - len(found)):
        found.append(DiskFault(job, kind, rng.randint(1, operations[job])))
    return found


def words_of(job: str, run: Path) -> list[str]:
    return [*TRAIN, "--out", str(run.parent), "--name", run.name] if job == "train" else verbs(run)[job]


def lay_out(job: str, subject: Path, run: Path) -> None:
    """The files before a job: none for a training, else a copy of the finished run."""
    copy(subject, run)
    if job == "train":
        shutil.rmtree(run)


def references(subject: Path, place: Path) -> dict[str, Answer]:
    """Every job without a fault, with the number of its operations on files."""
    found = {}
    for job in JOBS:
        run = place / job / "runs" / "a"
        lay_out(job, subject, run)
        found[job] = run_verb(job, words_of(job, run), run, Fault("count", 0, run.parent.parent))
    return found


def attempt(fault: DiskFault | EnvironmentFault, subject: Path, expected: dict[str, Answer], place: Path) -> Try:
    run = place / "runs" / "a"
    job = fault.job if isinstance(fault, DiskFault) else "train"
    lay_out(job, subject, run)
    words = words_of(job, run)
    if isinstance(fault, DiskFault):
        found = run_verb(job, words, run, Fault(fault.kind, fault.at, run.parent.parent))
    else:
        words += ["--processes"] * fault.processes
        with _misbehaving(fault, run):
            found = run_verb(job, words, run)
    part = f"faults: {'disk and process' if isinstance(fault, DiskFault) else 'environment'}"
    whole = expected[job]
    if found.broke and not ("Traceback" not in found.complained and found.status == _DEATHS.get(fault.kind)):
        return Try(part, str(fault), "traceback", last_line(found))
    if found.status == 0 and found.product != whole.product:
        return Try(part, str(fault), "silent", "The command says nothing, and its files differ.")
    after = run_verb(job, _again(job, run, words), run)
    if after.broke:
        return Try(part, str(fault), "traceback", f"afterwards: {last_line(after)}")
    if after.status != whole.status or after.product != whole.product:
        why = last_line(after) if after.status else "The files differ from those of an undisturbed run."
        return Try(part, str(fault), "lost", f"afterwards: {why}")
    return Try(part, str(fault), "sentence" if found.refused else "survived", last_line(found) if found.refused else "")


@contextmanager
def _misbehaving(fault: EnvironmentFault, run: Path) -> Iterator[None]:
    os.environ["ADVERSARY"] = f"{fault.kind}:{fault.at}"
    os.environ["ADVERSARY_DIRECTORY"] = str(run)
    try:
        yield
    finally:
        del os.environ["ADVERSARY"]


def _again(job: str, run: Path, words: list[str]) -> list[str]:
    """A training that was stopped is resumed; everything else is typed again."""
    if job != "train" or not (run / "config.json").exists():
        return words
    resume = verbs(run)["resume"]
    total = resume.index("--total-steps") + 1
    return [*resume[:total], str(EPOCHS * EPOCH), *resume[total + 1 :]]
