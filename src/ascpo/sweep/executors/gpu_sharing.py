"""Sharing the GPUs of this machine: how many batches train on one at the same time, and how many runs a batch has.

A batch does not fill a GPU: between its kernels the GPU waits for the host. So several batches train at the same time,
each in its own process, as many as the cores can feed and the memory can hold. Measured on an H200 with 16 cores: 32
runs of Point in one process take 6.6 s each, 128 runs in six processes 3.9 s each.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascpo.sweep.executors.contract import UNLIMITED
from ascpo.sweep.jobs import Job, learned_steps
from ascpo.sweep.nvidia import reported_by_gpus

MEMORY_SHARED = 0.9
"""Part of a GPU's memory that its batches share. The rest is for CUDA's own needs in every process."""
MOST_BATCHES = 6
"""Default for the largest number of batches on a GPU. More were not measured."""
_FEWEST_RUNS = 8
"""Smallest number of runs in a batch when batches are split to fill a GPU, since each batch compiles its programs."""
_CORES = 2
"""Cores that a batch on a GPU needs: one feeds the GPU, and compiling uses more."""
_BYTES_PER_STEP = 3600
"""Memory of a GPU for each step of the window of the cost critics, measured with Point."""
_UNKNOWN_MEMORY = 16 * 2**30
"""Assumed memory of a GPU whose driver does not report it."""


@dataclass(frozen=True)
class GpuSharing:
    """How batches share each GPU."""

    batches: int = 1
    """Number of batches that train on a GPU at the same time."""
    runs: int = UNLIMITED
    """Largest number of runs of a batch."""


def share_gpus(jobs: Sequence[Job], gpus: int, cores: int, part: float = 0.0) -> GpuSharing:
    """How these jobs share the GPUs. `part` is the part of a GPU for each batch; 0 chooses it."""
    runs = max(1, -(-len(jobs) // gpus))
    largest = _BYTES_PER_STEP * max((learned_steps(job.config) for job in jobs), default=1)
    fit = int(MEMORY_SHARED * gpu_memory() / largest)
    most = min(MOST_BATCHES, -(-runs // _FEWEST_RUNS), cores // _CORES // gpus, fit)
    batches = int(1.0 / part) if part else max(1, most)
    return GpuSharing(batches, max(1, min(fit // batches, max(_FEWEST_RUNS, -(-runs // batches)))))


def share_of_gpu(part: float) -> dict[str, str]:
    """The environment variables of a process that gets a part of a GPU's memory."""
    return {"XLA_PYTHON_CLIENT_MEM_FRACTION": f"{MEMORY_SHARED * part:.3f}"}


def count_gpus() -> int:
    """The GPUs of this machine that programs may use, without starting any of them."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([one for one in visible.split(",") if one.strip() not in ("", "-1")])
    return len([path for path in Path("/dev").glob("nvidia[0-9]*") if path.name[6:].isdigit()])


def gpu_memory() -> int:
    """Bytes of memory of the smallest GPU of this machine, as reported by its driver."""
    megabytes = reported_by_gpus("memory.total")
    return int(min(megabytes)) * 2**20 if megabytes else _UNKNOWN_MEMORY


def leave_gpu_to_workers() -> None:
    """Keep JAX in the driver of a sweep from preallocating GPU memory. Call this before JAX starts."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


@contextlib.contextmanager
def multi_process_service() -> Iterator[None]:
    """CUDA's multi-process service, with which processes use a GPU at the same time instead of in turns.

    The service is started if it is installed and not running. It is ended with the context.
    """
    began = _control("-d")
    try:
        yield
    finally:
        if began:
            _control(typed=b"quit\n")


def _control(*arguments: str, typed: bytes = b"") -> bool:
    """Control the service. Returns whether that succeeded."""
    command = ["nvidia-cuda-mps-control", *arguments]
    try:
        return subprocess.run(command, input=typed, capture_output=True, check=False, timeout=20).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
