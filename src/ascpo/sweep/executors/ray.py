"""An executor for Ray clusters. Ray queues the batches and finds machines with enough cores, GPUs and memory.

A worker of Ray starts the same process as on a single machine, so a batch writes the same files. When the driver ends,
Ray ends its workers. Their trainings can be resumed from their last checkpoints.
"""

import os
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from ascpo.runs.serialization import BadSetting, Plain
from ascpo.sweep.executors.assignment import Assignment, train_here
from ascpo.sweep.executors.contract import UNLIMITED, End, Resources, needs_gpu
from ascpo.sweep.executors.packing import unpack
from ascpo.sweep.jobs import Batch, Job

_POLL_EVERY = 1.0
"""Seconds between two reads of the mailbox."""
_TIME_TO_SAVE = 120.0
_TIME_TO_ANSWER = 10.0
"""Timeout of a connection, in seconds. Ray itself would try for minutes."""


Remote: TypeAlias = Any
"""An actor or a function of Ray, or the reference to a result."""


class Mailbox:
    """An actor that collects the machines of the workers, and their runs if there is no shared file system."""

    def __init__(self) -> None:
        self._nodes: dict[int, str] = {}
        self._files: dict[int, bytes] = {}

    def started(self, task: int, node: str) -> None:
        self._nodes[task] = node

    def send(self, task: int, files: bytes) -> None:
        """Only the newest files of a task are kept."""
        self._files[task] = files

    def take(self) -> tuple[dict[int, str], dict[int, bytes]]:
        """Everything since the last call."""
        nodes, files = self._nodes, self._files
        self._nodes, self._files = {}, {}
        return nodes, files


def train_task(assignment: Assignment, task: int, mailbox: Remote) -> End:
    """The task of a Ray worker: train a batch."""
    import ray

    restore_interrupts()
    node = ray.get_runtime_context().get_node_id()
    mailbox.started.remote(task, f"{socket.gethostname()} ({node[:4]})")
    if assignment.marker:
        return train_here(assignment)
    # The files are received before the task ends.
    return train_here(assignment, lambda files: ray.get(mailbox.send.remote(task, files)))


def restore_interrupts() -> None:
    """Restore the handler of interrupts, with which Ray cancels tasks. Workers ignore them if Ray runs in a shell's
    background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class OnRay:
    """Trains batches as tasks of Ray."""

    slots = most_runs = UNLIMITED

    def __init__(
        self, address: str, resources: Resources, marker: Path | None, train: Callable[..., End] = train_task
    ) -> None:
        """`marker` is a file that every machine sees, if they share a file system. `train` is what a worker does."""
        self._ray = connected(address)
        self._resources, self._marker = resources, marker
        self._threads = resources.cores or 1
        self._mailbox: Remote = self._ray.remote(Mailbox).options(num_cpus=0, max_restarts=-1).remote()
        self._train: Remote = self._ray.remote(train)
        self._tasks: dict[int, tuple[Remote, Path]] = {}
        self._nodes: dict[int, str] = {}
        self._count, self._asked = 0, 0.0
        self._pending_mail: Remote = None

    @property
    def side_by_side(self) -> int:
        """Number of batches of the native engine that the cluster can train at the same time."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)) // self._threads)

    def has_room(self, job: Job) -> bool:
        return True

    def submit(self, batches: Sequence[Batch]) -> list[int]:
        return [self._submit(batch) for batch in batches]

    def poll(self) -> Mapping[int, End]:
        self._read_mailbox()
        tasks = {task: ref for task, (ref, _) in self._tasks.items()}
        ready: set[Remote] = set()
        if tasks:
            ready |= set(self._ray.wait(list(tasks.values()), num_returns=len(tasks), timeout=0)[0])
        ended = {task: self._end(ref) for task, ref in tasks.items() if ref in ready}
        if ended and self._marker is None:
            self._read_mailbox(wait=True)
        for task in ended:
            del self._tasks[task]
            self._nodes.pop(task, None)
        return ended

    def nodes(self) -> Mapping[int, str]:
        return self._nodes

    def cancel(self, tasks: Sequence[int]) -> None:
        refs = [self._tasks[task][0] for task in tasks]
        for ref in refs:
            self._ray.cancel(ref)
        if refs:
            self._ray.wait(refs, num_returns=len(refs), timeout=_TIME_TO_SAVE)
        self._read_mailbox(wait=True)
        for task in tasks:
            del self._tasks[task]

    def close(self) -> None:
        self._ray.shutdown()

    def _submit(self, batch: Batch) -> int:
        self._count += 1
        gpus = (self._resources.gpus or 1) if needs_gpu(batch[0]) else 0
        # The sweep counts lost workers itself, for all executors in the same way.
        wanted = {"num_cpus": self._threads, "num_gpus": gpus, "max_retries": 0}
        if self._resources.memory:
            wanted["memory"] = int(self._resources.memory * 1e9)
        assignment = Assignment.of(batch, self._threads, self._marker, gpus)
        ref = self._train.options(**wanted).remote(assignment, self._count, self._mailbox)
        self._tasks[self._count] = ref, batch[0].directory.parent
        return self._count

    def _end(self, ref: Remote) -> End:
        errors = self._ray.exceptions
        try:
            return self._ray.get(ref)
        except errors.RayTaskError as error:
            cause = str(error.cause).strip() or type(error.cause).__name__
            return End(cause.splitlines()[-1])
        except errors.TaskUnschedulableError as error:
            return End(str(error).splitlines()[0])
        except errors.RayError as error:
            return End(f"Ray lost its worker ({type(error).__name__})", lost=True)

    def _read_mailbox(self, wait: bool = False) -> None:
        """Read the mailbox. Without `wait`, a slow answer is left for the next call."""
        if self._pending_mail is None and (wait or time.monotonic() - self._asked > _POLL_EVERY):
            self._pending_mail, self._asked = self._mailbox.take.remote(), time.monotonic()
        if self._pending_mail is None or not (wait or self._ray.wait([self._pending_mail], timeout=0)[0]):
            return
        mail, self._pending_mail = self._pending_mail, None
        try:
            nodes, files = self._ray.get(mail, timeout=_TIME_TO_SAVE)
        except self._ray.exceptions.RayError:
            return
        self._nodes |= {task: node for task, node in nodes.items() if task in self._tasks}
        for task, content in files.items():
            if task in self._tasks:
                unpack(content, self._tasks[task][1])


def connected(address: str) -> ModuleType:
    """Ray, connected to a cluster: the one at the address, that of this machine, or a new one of this machine alone."""
    try:
        import ray
    except ImportError:
        raise BadSetting("Ray is not installed: pip install 'ascpo[ray]'. Or use --on local.") from None

    quiet: Plain = {"log_to_driver": False, "logging_level": "ERROR"}
    if ray.is_initialized():
        return ray
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address != "ray":
        try:
            _check_reachable(address)
            ray.init(address, **quiet)
        except (ConnectionError, ImportError, OSError, RuntimeError, ValueError) as error:
            why = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
            raise BadSetting(
                f"There is no Ray cluster at {address}: {why}. On a machine of the cluster use host:6379, the port of "
                f"`ray start --head`. From elsewhere use ray://host:10001."
            ) from error
        return ray
    try:
        ray.init("auto", **quiet)
    except ConnectionError:
        # The new cluster is not reachable from other machines.
        ray.init(include_dashboard=False, _node_ip_address="127.0.0.1", **quiet)
    return ray


def _check_reachable(address: str) -> None:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), _TIME_TO_ANSWER).close()
