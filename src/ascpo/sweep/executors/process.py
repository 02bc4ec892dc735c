"""A process that trains a batch: its start, and the meaning of its exit code."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

from ascpo.runs.links import refuse_links
from ascpo.sweep.claim import LOST_CLAIM
from ascpo.sweep.executors.contract import End
from ascpo.sweep.jobs import Batch
from ascpo.sweep.store import log_file


def start(
    batch: Batch, threads: int, cores: Sequence[int] = (), environment: Mapping[str, str] | None = None
) -> "subprocess.Popen[bytes]":
    """Start a process that trains a batch, on these cores or on all. Its output goes to the log of the first run."""
    log = log_file(batch[0].run)
    refuse_links(log, log.parent)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "ascpo.sweep.worker", ",".join(map(str, cores)), str(threads)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Ctrl-C reaches the sweep alone, which then stops its processes.
            process_group=0,
            env=_environment(threads, few_cores=bool(cores)) | dict(environment or {}),
        )
    assert process.stdin is not None
    # If the process has died already, its exit code says why.
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps([job.to_data() for job in batch]).encode() + b"\n")
        process.stdin.flush()
    return process


def end_of(batch: Batch, code: int) -> End:
    """The end of a task from its exit code. If a run failed, the last line of its log says why."""
    if not code:
        return End()
    log = log_file(batch[0].run)
    if code < 0:
        return End(f"signal {-code} ended its process. The log is {log}", lost=True)
    if code in (128 + signal.SIGTERM, 128 + signal.SIGINT):
        return End(f"{signal.Signals(code - 128).name} stopped its process. The log is {log}", lost=True)
    if code == LOST_CLAIM:
        return End(f"another worker has taken over {batch[0].directory}, or its files were out of reach for a minute")
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()] if log.exists() else []
    return End(lines[-1] if lines else f"its process ended with exit code {code}")


def my_cores() -> list[int]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _environment(threads: int, few_cores: bool) -> dict[str, str]:
    env = os.environ | {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    # By default the first process would take most of an accelerator's memory.
    env.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if few_cores and not hasattr(os, "sched_setaffinity"):
        limit = f"--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads={threads}"
        env["XLA_FLAGS"] = f"{env.get('XLA_FLAGS', '')} {limit}".strip()
    return env
