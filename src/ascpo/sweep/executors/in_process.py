"""An executor that trains in this process."""

from collections.abc import Callable, Mapping, Sequence

from ascpo.algorithms import Method
from ascpo.sweep.executors.contract import UNLIMITED, End
from ascpo.sweep.jobs import Batch, Job

_MOST_KINDS = 16
"""Kinds of batches whose compiled programs are kept. Each takes some fifty megabytes."""


class InProcess:
    """Trains each batch in this process before `submit` returns. Batches of a kind share compiled programs."""

    slots = 1
    most_runs = UNLIMITED

    def __init__(self, run: Callable[[Batch], None]) -> None:
        self._run = run
        self._ended: dict[int, End] = {}
        self._kinds: set[tuple[str, Method]] = set()

    def has_room(self, job: Job) -> bool:
        return True

    def submit(self, batches: Sequence[Batch]) -> list[int]:
        for task, batch in enumerate(batches):
            self._free_memory(batch)
            try:
                self._run(batch)
                self._ended[task] = End()
            except Exception as error:
                self._ended[task] = End(str(error) or type(error).__name__)
        return list(range(len(batches)))

    def poll(self) -> Mapping[int, End]:
        ended, self._ended = self._ended, {}
        return ended

    def nodes(self) -> Mapping[int, str]:
        return {}

    def cancel(self, tasks: Sequence[int]) -> None: ...

    def close(self) -> None: ...

    def _free_memory(self, batch: Batch) -> None:
        """Clear compiled programs if there are too many kinds."""
        kinds = {(job.config.env, job.config.method) for job in batch}
        if len(self._kinds | kinds) > max(_MOST_KINDS, len(kinds)):
            import jax

            jax.clear_caches()
            self._kinds.clear()
        self._kinds |= kinds
