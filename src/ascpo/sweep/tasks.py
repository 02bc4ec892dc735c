"""The batches that an executor trains.

A batch whose worker is lost is submitted again while it makes progress. Three losses in a row without a new epoch count
as a failure.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from ascpo.sweep.executors.contract import End, Executor, needs_gpu
from ascpo.sweep.jobs import Batch

_MOST_LOSSES = 3
"""Number of losses of a worker in a row, without a new epoch, that count as a failure."""


class Tasks:
    """The batches that an executor trains."""

    def __init__(self, executor: Executor, on_loss: Callable[[Batch, str], None]) -> None:
        self._executor, self._on_loss = executor, on_loss
        self._running: dict[int, tuple[Batch, float]] = {}
        self._losses: dict[Batch, tuple[int, int]] = {}
        """For each batch, its losses in a row, and the fewest epochs that were left at any of them."""

    @property
    def running(self) -> int:
        return len(self._running)

    def submit(self, batches: Sequence[Batch]) -> None:
        began = time.monotonic()
        if batches:
            numbers = self._executor.submit([_training_of(batch) for batch in batches])
            self._running |= {task: (batch, began) for task, batch in zip(numbers, batches, strict=True)}

    def poll(self) -> list[tuple[Batch, str, float]]:
        """The batches that have ended, with their errors and seconds. Lost ones are submitted again."""
        found: list[tuple[Batch, str, float]] = []
        again: list[Batch] = []
        for task, end in self._executor.poll().items():
            batch, began = self._running.pop(task)
            if end.lost and self._may_try_again(batch):
                self._on_loss(batch, end.error)
                again.append(batch)
            else:
                found.append((batch, _sentence(end), time.monotonic() - began))
        self.submit(again)
        return found

    def nodes(self) -> dict[Batch, str]:
        return {self._running[task][0]: node for task, node in self._executor.nodes().items() if task in self._running}

    def cancel(self, batches: Sequence[Batch] | None = None) -> None:
        """Stop these batches, or all of them."""
        tasks = [task for task, (batch, _) in self._running.items() if batches is None or batch in batches]
        for task in tasks:
            del self._running[task]
        self._executor.cancel(tasks)

    def _may_try_again(self, batch: Batch) -> bool:
        left = sum(job.epochs_left for job in batch)
        losses, before = self._losses.get(batch, (0, left))
        # A worker repeats the epochs since the last checkpoint, so there may be more left than before.
        losses = losses + 1 if left >= before else 1
        self._losses[batch] = losses, min(left, before)
        return losses < _MOST_LOSSES


def _training_of(batch: Batch) -> Batch:
    """The part of a batch that an executor runs: on a GPU only the training."""
    return tuple(replace(job, evaluation=None) if needs_gpu(job) else job for job in batch)


def _sentence(end: End) -> str:
    again = f" It lost its worker {_MOST_LOSSES} times in a row without a new epoch."
    return f"{end.error.rstrip('.')}.{again}" if end.lost else end.error
