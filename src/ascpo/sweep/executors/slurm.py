"""An executor for SLURM clusters, by submitit. SLURM queues the batches and finds machines.

Jobs of SLURM continue when the driver ends. A new driver cancels the jobs that are left before it submits its own.
"""

import contextlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ascpo.runs.files import write_whole
from ascpo.runs.serialization import BadSetting, Plain
from ascpo.sweep.executors.assignment import Assignment, train_here
from ascpo.sweep.executors.contract import UNLIMITED, End, Resources, needs_gpu
from ascpo.sweep.jobs import Batch, Job

_POLL_EVERY = 2.0
_QUEUE_TIMEOUT = 60.0
"""Seconds that SLURM may take to list its queue."""
_SLOW_FILES = 15.0
"""Seconds until the result of a job that has ended must be seen."""
_TIME_TO_SAVE = 60.0
_TIMEOUTS = 1000
"""How often SLURM may end a job at its time limit. Each time the job continues from its checkpoint."""


SlurmJob: TypeAlias = Any
"""A job of submitit, which is an optional package."""


class Training:
    """The function of a SLURM job: train a batch. At its time limit, it saves its runs, and SLURM requeues it."""

    def __call__(self, assignment: Assignment) -> End:
        return train_here(assignment)

    def checkpoint(self, assignment: Assignment) -> object:
        """Called by submitit during `__call__`. The worker saves its runs when this process has ended."""
        import submitit

        return submitit.helpers.DelayedSubmission(self, assignment)


class OnSlurm:
    """Trains batches as jobs of SLURM, those of one submission as one array."""

    slots = most_runs = UNLIMITED

    def __init__(
        self, folder: Path, resources: Resources, parameters: Mapping[str, object], marker: Path, cluster: str = "slurm"
    ) -> None:
        """`folder` keeps the files of the jobs. `cluster` is `local` in tests, where submitit uses processes."""
        self._resources, self._parameters, self._marker = resources, dict(parameters), marker
        self._folder, self._cluster = folder.absolute(), cluster
        self._threads = resources.cores or 1
        self._executors = {gpu: self._executor(gpu) for gpu in (False, True)}
        self._left_file = self._folder / "jobs.json"
        self._end_left_jobs()
        self._tasks: dict[int, tuple[SlurmJob, Batch]] = {}
        self._ended_at: dict[int, float] = {}
        self._queue: Mapping[str, str] | None = None
        self._count, self._polled = 0, 0.0

    @property
    def _whole_gpus(self) -> int:
        """GPUs of a batch of MJX. SLURM does not assign fractions of a GPU."""
        return max(1, round(self._resources.gpus))

    def has_room(self, job: Job) -> bool:
        return True

    def submit(self, batches: Sequence[Batch]) -> list[int]:
        numbers: dict[int, int] = {}
        for gpu, executor in self._executors.items():
            gpus = self._whole_gpus if gpu else 0
            mine = [i for i, batch in enumerate(batches) if needs_gpu(batch[0]) == gpu]
            if not mine:
                continue
            assignments = [Assignment.of(batches[i], self._threads, self._marker, gpus) for i in mine]
            jobs = executor.map_array(Training(), assignments) if len(mine) > 1 else []
            for i, job in zip(mine, jobs or [executor.submit(Training(), assignments[0])], strict=True):
                self._count += 1
                self._tasks[self._count] = job, batches[i]
                numbers[i] = self._count
        self._remember()
        return [numbers[i] for i in range(len(batches))]

    def poll(self) -> Mapping[int, End]:
        if time.monotonic() - self._polled < _POLL_EVERY:
            return {}
        self._polled = time.monotonic()
        self._queue = _queue() if self._cluster == "slurm" else None
        ended = {task: end for task, (job, _) in self._tasks.items() if (end := self._end(task, job)) is not None}
        for task in ended:
            del self._tasks[task]
            self._ended_at.pop(task, None)
        if ended:
            self._remember()
        return ended

    def nodes(self) -> Mapping[int, str]:
        found: dict[int, str] = {}
        for task, (job, _) in self._tasks.items():
            if self._cluster != "slurm":
                if job.get_info(mode="cache").get("jobState") == "RUNNING":
                    found[task] = socket.gethostname()
            elif self._queue and self._queue.get(job.job_id):
                found[task] = self._queue[job.job_id]
        return found

    def cancel(self, tasks: Sequence[int]) -> None:
        chosen = [self._tasks.pop(task) for task in tasks]
        for job, _ in chosen:
            with contextlib.suppress(Exception):  # It may have ended a moment ago.
                job.cancel(check=False)
        end = time.monotonic() + _TIME_TO_SAVE
        while any(one.is_busy() for _, batch in chosen for one in batch) and time.monotonic() < end:
            time.sleep(0.2)
        self._remember()

    def close(self) -> None: ...

    def _executor(self, gpu: bool) -> Any:
        try:
            import submitit
        except ImportError:
            raise BadSetting("submitit is not installed: pip install 'ascpo[slurm]'. Or use --on local.") from None
        try:
            executor = submitit.AutoExecutor(self._folder, self._cluster, slurm_max_num_timeout=_TIMEOUTS)
        except RuntimeError as error:
            raise BadSetting(f"This machine has no SLURM: {error} Use a machine of the cluster.") from error
        wanted: Plain = {"timeout_min": 60, "cpus_per_task": self._threads, "name": "ascpo"}
        if self._resources.memory:
            wanted["mem_gb"] = self._resources.memory
        if gpu:
            wanted["gpus_per_node"] = self._whole_gpus
        try:
            executor.update_parameters(**wanted, **{f"slurm_{name}": value for name, value in self._parameters.items()})
        except (NameError, ValueError, TypeError) as error:
            raise BadSetting(f"--slurm: {str(error).splitlines()[0]}") from error
        return executor

    def _end(self, task: int, job: SlurmJob) -> End | None:
        if job.paths.result_pickle.exists():
            error = job.exception()
            if error is None:
                return job.result()
            if not _requeued(str(error)):
                return End(_last_line(str(error)))
            # It did not fail: it requeued itself, and SLURM ended it before the call returned.
            job.paths.result_pickle.unlink(missing_ok=True)
        if not self._has_left(job):
            return None
        # A killed job has no result. Those of others may appear late on a slow file system.
        if time.monotonic() - self._ended_at.setdefault(task, time.monotonic()) < self._wait_for_result:
            return None
        return End(f"its job {job.job_id} ended without a result", lost=True)

    def _has_left(self, job: SlurmJob) -> bool:
        """Whether a job has left the queue. This needs no accounting on the cluster, and is up to date."""
        if self._cluster != "slurm":
            return job.done()
        return self._queue is not None and job.job_id not in self._queue

    @property
    def _wait_for_result(self) -> float:
        return 0.0 if self._cluster == "local" else _SLOW_FILES

    def _remember(self) -> None:
        write_whole(self._left_file, json.dumps([job.job_id for job, _ in self._tasks.values()]))

    def _end_left_jobs(self) -> None:
        """Cancel the jobs of an earlier driver."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if not self._left_file.exists() or self._cluster == "local":
            return
        import submitit

        for number in json.loads(self._left_file.read_text()):
            # Jobs that have ended are ignored.
            submitit.SlurmJob(folder=self._folder, job_id=str(number), tasks=[0]).cancel(check=False)


def _queue() -> dict[str, str] | None:
    """The user's jobs in the queue, with the machines of the running ones. None if SLURM does not answer."""
    words = ["squeue", "--noheader", "--array", "--user", str(os.getuid()), "--format", "%i %N"]
    try:
        answer = subprocess.run(words, capture_output=True, text=True, timeout=_QUEUE_TIMEOUT, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return {number: node for number, _, node in (line.partition(" ") for line in answer.splitlines())}


def _requeued(error: str) -> bool:
    return "'scontrol', 'requeue'" in error


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("-")]
    mine = [line for line in lines if "Error" in line]
    return (mine or lines or ["the job failed"])[-1]
