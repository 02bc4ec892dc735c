"""An executor that trains in processes of this machine.

`concurrent.futures` is not enough: each process needs its cores and environment variables before anything is imported,
its own log, and a way to end alone after saving its runs.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from ascpo.sweep.executors.contract import End, needs_gpu
from ascpo.sweep.executors.gpu_sharing import GpuSharing, multi_process_service, share_of_gpu
from ascpo.sweep.executors.process import end_of, my_cores, start
from ascpo.sweep.jobs import Batch, Job


class Processes:
    """Trains each batch in its own process, several at the same time, each on its share of the cores.

    With GPUs, batches of MJX have their own slots in addition to those of the host. The batches on a GPU share its
    memory equally.
    """

    def __init__(
        self,
        slots: int,
        threads: int = 0,
        *,
        gpus: int = 0,
        sharing: GpuSharing | None = None,
        compile_afresh: bool = False,
    ) -> None:
        sharing = sharing or GpuSharing()
        self.slots = slots + gpus * sharing.batches
        self.most_runs = sharing.runs
        self._host_slots, self._gpus, self._per_gpu = slots, gpus, sharing.batches
        self._threads = threads or max(1, len(my_cores()) // self.slots)
        self._compile_afresh = compile_afresh
        """Every process compiles its programs itself, so that all have the same work."""
        self._running: dict[int, tuple[Batch, subprocess.Popen[bytes]]] = {}
        """The processes by slot: first the slots of the host, then those of the GPUs."""
        self._service: ExitStack | None = None
        """CUDA's multi-process service. None until the first batch that shares a GPU."""

    def has_room(self, job: Job) -> bool:
        return any(slot not in self._running for slot in self._slots_for(job))

    def submit(self, batches: Sequence[Batch]) -> list[int]:
        return [self._start(batch) for batch in batches]

    def poll(self) -> Mapping[int, End]:
        ended: dict[int, End] = {}
        for slot, (batch, process) in list(self._running.items()):
            if (code := process.poll()) is not None:
                del self._running[slot]
                ended[slot] = end_of(batch, code)
        return ended

    def nodes(self) -> Mapping[int, str]:
        return {slot: f"process {process.pid}" for slot, (_, process) in self._running.items()}

    def cancel(self, tasks: Sequence[int]) -> None:
        processes = [self._running.pop(task)[1] for task in tasks]
        for process in processes:
            process.terminate()
        # If this process is killed meanwhile, the others notice it, save their runs and end.
        for process in processes:
            process.wait()

    def close(self) -> None:
        if self._service is not None:
            self._service.close()

    def _slots_for(self, job: Job) -> range:
        host = range(self._host_slots)
        return range(self._host_slots, self.slots) if self._gpus and needs_gpu(job) else host

    def _start(self, batch: Batch) -> int:
        slot = next(slot for slot in self._slots_for(batch[0]) if slot not in self._running)
        uses_gpu = bool(self._gpus) and slot >= self._host_slots
        cores: list[int] = []
        # A batch on a GPU compiles on all cores for minutes, and then hardly needs any.
        if self.slots > 1 and not uses_gpu:
            all_cores, first = my_cores(), slot * self._threads
            cores = [all_cores[(first + i) % len(all_cores)] for i in range(self._threads)]
        env = {"ASCPO_CACHE": "off"} if self._compile_afresh else {}
        if self._gpus:
            env |= self._on_gpu(slot - self._host_slots) if uses_gpu else {"JAX_PLATFORMS": "cpu"}
        self._running[slot] = batch, start(batch, self._threads, cores, env)
        return slot

    def _on_gpu(self, slot: int) -> dict[str, str]:
        found = {"CUDA_VISIBLE_DEVICES": str(slot // self._per_gpu)}
        if self._per_gpu > 1:
            if self._service is None:
                self._service = ExitStack()
                self._service.enter_context(multi_process_service())
            found |= share_of_gpu(1 / self._per_gpu)
            # Sweeps start with the longest batches. The first one on a GPU has priority over the others.
            priority = "0" if slot % self._per_gpu == 0 else "1"
            found["CUDA_MPS_CLIENT_PRIORITY"] = os.environ.get("CUDA_MPS_CLIENT_PRIORITY", priority)
        return found
