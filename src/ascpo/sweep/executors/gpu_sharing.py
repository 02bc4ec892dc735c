"""How batches share the GPUs of this machine: how many train on one at the same time, and how many runs a batch has.

A batch does not fill a GPU: between its kernels the GPU waits for the host. So several batches train side by side, each
in a process of its own, as many as cores can feed and memory can hold. Measured on an H200 with 16 cores: 32 runs of
Point in one process take 6.6 s each, 128 runs in six processes 3.9 s each.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascpo.sweep.executors.contract import UNLIMITED
from ascpo.sweep.jobs import Job, learned_steps

MEMORY_SHARED = 0.9
"""Part of a GPU's memory that its batches share. The rest is for what CUDA itself needs in every process."""
MOST_BATCHES = 6
"""Batches on a GPU at the same time, if nobody asks for more. More were not measured."""
_FEWEST_RUNS = 8
"""A batch is not split into smaller ones than this to fill a GPU: each compiles its programs itself."""
_CORES = 2
"""Cores that a batch on a GPU keeps busy: one feeds the GPU, and compiling uses all there are."""
_BYTES_PER_STEP = 3600
"""Of a GPU's memory, for each step of the window on which cost critics are fitted: measured with Point."""
_UNKNOWN_MEMORY = 16 * 2**30
"""Bytes of a GPU whose driver does not tell."""


@dataclass(frozen=True)
class GpuSharing:
    """How batches share each GPU."""

    batches: int = 1
    """That train at the same time."""
    runs: int = UNLIMITED
    """The most of a batch."""


def share_gpus(jobs: Sequence[Job], gpus: int, cores: int, part: float = 0.0) -> GpuSharing:
    """How these jobs share so many GPUs. `part` is what each batch gets of one; 0 finds it out."""
    runs = max(1, -(-len(jobs) // gpus))
    batches = int(1.0 / part) if part else max(1, min(MOST_BATCHES, -(-runs // _FEWEST_RUNS), cores // _CORES // gpus))
    largest = _BYTES_PER_STEP * max((learned_steps(job.config) for job in jobs), default=1)
    fit = int(MEMORY_SHARED * gpu_memory() / batches / largest)
    return GpuSharing(batches, max(1, min(fit, max(_FEWEST_RUNS, -(-runs // batches)))))


def count_gpus() -> int:
    """The GPUs of this machine that programs may use, without starting any of them."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([one for one in visible.split(",") if one.strip() not in ("", "-1")])
    return len([path for path in Path("/dev").glob("nvidia[0-9]*") if path.name[6:].isdigit()])


def gpu_memory() -> int:
    """Bytes of the smallest GPU of this machine, as its driver says."""
    try:
        asked = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
        said = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=20).stdout
        return min(int(line) for line in said.split()) * 2**20
    except (OSError, ValueError, subprocess.SubprocessError):
        return _UNKNOWN_MEMORY


def leave_gpu_to_workers() -> None:
    """Before JAX starts in the process that drives a sweep, where it would take most of a GPU's memory for itself."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


@contextlib.contextmanager
def multi_process_service() -> Iterator[None]:
    """CUDA's service with which processes use a GPU at the same time; without it they take turns.

    It is started if the machine has it and it does not run, and then ended again.
    """
    began = _control("-d")
    try:
        yield
    finally:
        if began:
            _control(typed=b"quit\n")


def _control(*arguments: str, typed: bytes = b"") -> bool:
    """Tell the service something. Whether there is one that did it."""
    command = ["nvidia-cuda-mps-control", *arguments]
    try:
        return subprocess.run(command, input=typed, capture_output=True, check=False, timeout=20).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
