"""The contract of executors, which train the batches of a sweep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol, runtime_checkable

from ascpo.ranges import Range
from ascpo.sweep.jobs import Batch, Job

UNLIMITED = 10**6
"""The slots of an executor with its own queue."""


@dataclass(frozen=True)
class Resources:
    """Resources of each batch."""

    cores: Annotated[int, Range(at_least=0, at_most=4096)] = 0
    """Cores of each batch, which is also its number of threads. 0 means an equal share of this machine, or one core on
    a cluster."""
    gpus: Annotated[float, Range(at_least=0.0, at_most=64.0)] = 0.0
    """GPUs of each batch that MJX simulates. Batches of the native engine use none. 0.5 puts two batches on one GPU,
    each with its share of the memory. 0 means one GPU on a cluster; on this machine, as many batches share a GPU as
    its memory and the cores allow."""
    memory: Annotated[float, Range(at_least=0.0, at_most=1e6)] = 0.0
    """Gigabytes of memory that each batch reserves on a cluster. 0 reserves none."""


@dataclass(frozen=True)
class End:
    """The end of a task."""

    error: str = ""
    """Empty if every job of it is done."""
    lost: bool = False
    """Whether its worker was lost, because it was killed or its machine failed. The runs did not cause it."""


@runtime_checkable
class Executor(Protocol):
    """Trains batches on some kind of machines."""

    slots: int
    """Number of batches that it accepts at the same time. An executor with its own queue accepts all."""
    most_runs: int
    """Largest number of runs of a batch with MJX."""

    def has_room(self, job: Job) -> bool:
        """Whether a batch that begins with this job can start now, or wait in the executor's own queue."""
        ...

    def submit(self, batches: Sequence[Batch]) -> list[int]:
        """Start batches. Returns the numbers of their tasks."""
        ...

    def poll(self) -> Mapping[int, End]:
        """The tasks that have ended since the last call."""
        ...

    def nodes(self) -> Mapping[int, str]:
        """The machines of the running tasks. Tasks in a queue are not included."""
        ...

    def cancel(self, tasks: Sequence[int]) -> None:
        """Stop these tasks, and wait until they have saved their runs. `poll` does not return them."""

    def close(self) -> None:
        """Release the machines."""


def side_by_side(executor: Executor) -> int:
    """Number of batches that train at the same time. An executor with its own queue may have its own estimate."""
    return getattr(executor, "side_by_side", executor.slots)


def needs_gpu(job: Job) -> bool:
    """Whether the job uses an accelerator. Evaluations are played on the host."""
    return job.config.engine != "native" and not job.trained
