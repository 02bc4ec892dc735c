"""What trains the batches of a sweep: this process, or other processes on this machine.

Processes are started by hand rather than by `concurrent.futures`: each needs its cores and its environment before
anything is imported, a log of its own, and an end that spares the others, in which it saves its run.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import jax

from ascpo.algorithms import Method
from ascpo.runs.links import refuse_links
from ascpo.sweep.jobs import Batch
from ascpo.sweep.store import log_file

_MOST_KINDS = 16
"""A kind of compiled programs takes some fifty megabytes."""


@runtime_checkable
class Executor(Protocol):
    """Trains batches. Another kind of machine needs no more than this."""

    slots: int
    """How many batches it trains at the same time."""

    def submit(self, batch: Batch) -> int:
        """Start to train a batch. The number names the task until it has ended."""
        ...

    def poll(self, task: int) -> str | None:
        """The error of a task that ended, "" if every job of it is done; None while it runs. An end is told once."""

    def cancel(self, tasks: Sequence[int]) -> None:
        """Stop these tasks, and return when they have saved their runs."""


class InProcess:
    """Trains each batch in this process before `submit` returns. Batches of a kind share compiled programs."""

    slots = 1

    def __init__(self, run: Callable[[Batch], None]) -> None:
        self._run = run
        self._error = ""
        self._kinds: set[tuple[str, Method]] = set()

    def submit(self, batch: Batch) -> int:
        self._free_memory(batch)
        try:
            self._run(batch)
            self._error = ""
        except Exception as error:
            self._error = str(error) or type(error).__name__
        return 0

    def poll(self, task: int) -> str | None:
        return self._error

    def cancel(self, tasks: Sequence[int]) -> None: ...

    def _free_memory(self, batch: Batch) -> None:
        """Drop compiled programs when they are of too many kinds."""
        kinds = {(job.config.env, job.config.method) for job in batch}
        if len(self._kinds | kinds) > max(_MOST_KINDS, len(kinds)):
            jax.clear_caches()
            self._kinds.clear()
        self._kinds |= kinds


class Processes:
    """Trains each batch in a process of its own, several at the same time, each on its share of the cores."""

    def __init__(self, slots: int, threads: int = 0, *, compile_afresh: bool = False) -> None:
        self.slots = slots
        self._threads = threads or max(1, len(_cores()) // slots)
        self._compile_afresh = compile_afresh
        """Every process compiles its programs itself, so that all have the same work."""
        self._running: dict[int, tuple[Batch, subprocess.Popen[bytes]]] = {}
        """By slot."""

    def submit(self, batch: Batch) -> int:
        slot = next(slot for slot in range(self.slots) if slot not in self._running)
        log = log_file(batch[0].run)
        refuse_links(log, log.parent)
        log.parent.mkdir(parents=True, exist_ok=True)
        jobs = json.dumps([job.to_data() for job in batch])
        cores = _cores()
        mine = [cores[(slot * self._threads + i) % len(cores)] for i in range(self._threads)] if self.slots > 1 else []
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "ascpo.sweep.worker", jobs, ",".join(map(str, mine)), str(self._threads)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C reaches the sweep alone, which then stops its processes.
                process_group=0,
                env=self._environment(),
            )
        self._running[slot] = batch, process
        return slot

    def poll(self, task: int) -> str | None:
        batch, process = self._running[task]
        code = process.poll()
        if code is None:
            return None
        del self._running[task]
        return _error(batch, code) if code else ""

    def cancel(self, tasks: Sequence[int]) -> None:
        processes = [self._running[task][1] for task in tasks]
        for process in processes:
            process.terminate()
        # Whoever is in a hurry can kill this process: the others notice that it is gone, save their runs and end.
        for process in processes:
            process.wait()

    def _environment(self) -> dict[str, str]:
        threads = str(self._threads)
        env = os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        # By default the first process would take most of an accelerator's memory.
        env.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        if self._compile_afresh:
            env["ASCPO_CACHE"] = "off"
        if self.slots > 1 and not hasattr(os, "sched_setaffinity"):
            limit = f"--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads={threads}"
            env["XLA_FLAGS"] = f"{env.get('XLA_FLAGS', '')} {limit}".strip()
        return env


def _error(batch: Batch, code: int) -> str:
    """The last line of the log, or the signal that ended the process."""
    log = log_file(batch[0].run)
    if code < 0:
        return f"signal {-code} ended its process. The log is {log}"
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()] if log.exists() else []
    return lines[-1] if lines else f"its process ended with exit code {code}"


def _cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
