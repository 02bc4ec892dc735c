"""What a sweep asks of whatever trains its batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol, runtime_checkable

from ascpo.ranges import Range
from ascpo.sweep.jobs import Batch, Job

UNLIMITED = 10**6
"""The slots of an executor that has a queue of its own."""


@dataclass(frozen=True)
class Resources:
    """What each batch needs of the machine that trains it."""

    cores: Annotated[int, Range(at_least=0, at_most=4096)] = 0
    """Cores of each batch, and so its threads. 0 means an equal share of this machine, or one core on a cluster."""
    gpus: Annotated[float, Range(at_least=0.0, at_most=64.0)] = 0.0
    """GPUs of each batch that MJX simulates. Batches of the native engine use none. 0.5 puts two batches on one GPU,
    each with its share of the memory. 0 means one GPU on a cluster; on this machine, as many batches share a GPU as
    its memory and the cores allow."""
    memory: Annotated[float, Range(at_least=0.0, at_most=1e6)] = 0.0
    """Gigabytes of memory that each batch reserves on a cluster. 0 reserves none."""


@dataclass(frozen=True)
class End:
    """How a task ended."""

    error: str = ""
    """Empty if every job of it is done."""
    lost: bool = False
    """Its worker is gone: somebody killed it, or its machine is lost. Its runs are not to blame."""


@runtime_checkable
class Executor(Protocol):
    """Trains batches. Another kind of machine needs no more than this."""

    slots: int
    """How many batches it accepts at the same time. One that has a queue of its own accepts all of them."""
    most_runs: int
    """The most runs of a batch that MJX simulates."""

    def has_room(self, job: Job) -> bool:
        """Whether a batch that begins with this job can start now, or wait in the executor's own queue."""
        ...

    def submit(self, batches: Sequence[Batch]) -> list[int]:
        """Begin to train batches. Each number names a task until it has ended."""
        ...

    def poll(self) -> Mapping[int, End]:
        """The tasks that have ended since the last call."""
        ...

    def nodes(self) -> Mapping[int, str]:
        """The machine of each task that runs. Tasks that wait in a queue have none."""
        ...

    def cancel(self, tasks: Sequence[int]) -> None:
        """Stop these tasks, and return when they have saved their runs. They are not polled again."""

    def close(self) -> None:
        """Let go of the machines."""


def side_by_side(executor: Executor) -> int:
    """How many batches it trains at the same time. One with a queue of its own may know that better than its slots."""
    return getattr(executor, "side_by_side", executor.slots)


def needs_gpu(job: Job) -> bool:
    """Whether an accelerator simulates it."""
    return job.config.engine != "native"
