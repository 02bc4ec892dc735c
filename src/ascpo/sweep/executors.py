"""Do many trainings: those that are missing, those that were stopped; one after another, or some at once.

A training that fails is reported, and the others go on. Whatever stops a sweep, the same call goes on with it.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ascpo.sweep.jobs import Order
from ascpo.sweep.scheduler import PATIENCE, Done, Queue, attempt, noted


class Watcher(Protocol):
    """Is told what happens."""

    def begin(self, order: Order) -> None: ...

    def end(self, done: Done) -> None: ...

    def look(self, running: Sequence[Order]) -> None:
        """Now and then, where trainings run beside each other."""
        ...


class Process(Protocol):
    """What a training at work is seen by."""

    def poll(self) -> int | None: ...

    def terminate(self) -> None: ...

    def wait(self) -> int: ...


def one_by_one(
    orders: Sequence[Order], do: Callable[[Order], None], watcher: Watcher, patience: float = PATIENCE
) -> list[Done]:
    """In this process, so that trainings of a kind share what was compiled."""
    queue, done = Queue(orders, patience), []
    while (order := queue.next(done)) is not None:
        watcher.begin(order)
        end = attempt(order, do)
        done.append(end)
        watcher.end(end)
    return done


def side_by_side(
    orders: Sequence[Order],
    start: Callable[[Order, int], Process],
    watcher: Watcher,
    jobs: int,
    patience: float = PATIENCE,
    pause: float = 0.2,
) -> list[Done]:
    """Some at once, each in a process of its own. `start` gets an order and which of the places it has."""
    queue, done = Queue(orders, patience), []
    running: dict[int, tuple[Order, Process, float]] = {}
    try:
        while True:
            for place in range(jobs):
                if place not in running and (order := queue.next(done, wait=not running)) is not None:
                    watcher.begin(order)
                    running[place] = (order, start(order, place), time.monotonic())
            if not running:
                return done
            time.sleep(pause)
            watcher.look([order for order, _, _ in running.values()])
            for place, (order, process, began) in list(running.items()):
                if (code := process.poll()) is not None:
                    del running[place]
                    seconds = time.monotonic() - began
                    end = noted(Done(order, "trained", seconds) if code == 0 else _failed(order, code, seconds))
                    done.append(end)
                    watcher.end(end)
    except BaseException:
        for _, process, _ in running.values():
            process.terminate()
        # They save what they have. Whoever is in a hurry can kill this process: then they end by themselves.
        for _, process, _ in running.values():
            process.wait()
        raise


def _failed(order: Order, code: int, seconds: float) -> Done:
    log = log_of(order)
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()] if log.exists() else []
    why = lines[-1] if lines and code > 0 else f"its process ended with {code}"
    return Done(order, "failed", seconds, f"{why} (all of it: {log})" if code < 0 else why)


def log_of(order: Order) -> Path:
    """What its process said."""
    return order.trouble.with_suffix(".log")


@dataclass(frozen=True)
class Starter:
    """Starts processes, each with its share of the machine."""

    jobs: int
    threads: int = 0
    """Of each; 0 for an equal share of the cores."""
    compile_afresh: bool = False
    """Each compiles its programs itself, so that all have the same work."""

    def __call__(self, order: Order, place: int) -> "subprocess.Popen[bytes]":
        cores = _cores()
        threads = self.threads or max(1, len(cores) // self.jobs)
        mine = [cores[(place * threads + i) % len(cores)] for i in range(threads)] if self.jobs > 1 else []
        log = log_of(order)
        log.parent.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-m", "ascpo.sweep.worker", order.to_json(), ",".join(map(str, mine)), str(threads)]
        with log.open("wb") as file:
            # A group of its own: Ctrl-C is for the sweep, which then tells its trainings.
            return subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                process_group=0,
                env=self._environment(threads),
            )

    def _environment(self, threads: int) -> dict[str, str]:
        env = os.environ | {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
        # An accelerator is shared: by default the first process would take most of its memory.
        env.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        if self.compile_afresh:
            env["ASCPO_CACHE"] = "off"
        if self.jobs > 1 and not hasattr(os, "sched_setaffinity"):
            limit = f"--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads={threads}"
            env["XLA_FLAGS"] = f"{env.get('XLA_FLAGS', '')} {limit}".strip()
        return env


def _cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
