"""Run the trials of a search on an executor, several at the same time.

As in a sweep, a trial on a GPU only trains there. Then its episodes are played on the host.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from ascpo.errors import BadSetting
from ascpo.sweep.executors.contract import Executor, needs_gpu
from ascpo.sweep.jobs import Batch
from ascpo.sweep.tasks import Tasks
from ascpo.tuning.study import Search

_LOOK_EVERY = 2.0
"""Seconds between two checks of the returns of running trials."""


def tune(search: Search, executor: Executor, trials: int, side_by_side: int, say: Callable[[str], None]) -> None:
    """Run trials until this many have ended. Interrupted ones come first."""
    loop = _Loop(search, executor, side_by_side, say)
    try:
        loop.run(trials)
    except BaseException:
        loop.tasks.cancel()
        raise


class _Loop:
    def __init__(self, search: Search, executor: Executor, side_by_side: int, say: Callable[[str], None]) -> None:
        self.search, self._say, self._side_by_side = search, say, side_by_side
        self._executor = executor
        self.tasks = Tasks(executor, lambda batch, error: say(f"{batch[0].name} lost its worker: {error}"))
        self._numbers: dict[Batch, int] = {}
        """The trials that have not ended."""
        self._queue: list[Batch] = []
        """Those of them that wait until the executor has room."""
        self._looked = 0.0

    def run(self, trials: int) -> None:
        waiting = list(self.search.unfinished().items())
        while True:
            while len(self._numbers) < self._side_by_side and (
                waiting or self.search.ended() + len(self._numbers) < trials
            ):
                self._start(*(waiting.pop(0) if waiting else self._ask()))
            self._submit()
            if not self._numbers:
                return
            for batch, error, seconds in self.tasks.poll():
                self._end(batch, error, seconds)
            if time.monotonic() - self._looked > _LOOK_EVERY:
                self._prune()
                self._looked = time.monotonic()
            time.sleep(0.2)

    def _ask(self) -> tuple[int, Batch]:
        for _ in range(100):
            try:
                return self.search.ask()
            except BadSetting as error:
                self._say(f"These values cannot be combined: {error}")
        raise BadSetting("A hundred trials in a row had settings that cannot be combined. Search other ranges.")

    def _start(self, number: int, batch: Batch) -> None:
        values = ", ".join(f"{name}={_short(value)}" for name, value in self.search.study.trials[number].params.items())
        self._say(f"trial {number}: {values}")
        self._numbers[batch] = number
        self._queue.append(batch)
        self._submit()

    def _submit(self) -> None:
        waiting, self._queue = self._queue, []
        for batch in waiting:
            if self._executor.has_room(batch[0]):
                self.tasks.submit([batch])
            else:
                self._queue.append(batch)

    def _end(self, batch: Batch, error: str, seconds: float) -> None:
        if not error and needs_gpu(batch[0]):
            self._queue.append(tuple(replace(job, trained=True) for job in batch))
            return
        number = self._numbers.pop(batch)
        if error:
            self.search.fail(number, error)
            self._say(f"trial {number} failed: {error}")
            return
        found = self.search.end(number, batch)
        kept = "" if found.certified >= self.search.setup.probability else ", which is too little"
        self._say(
            f"trial {number}: J_r {found.mean_return:.2f}, {found.violations} violations in {found.episodes} episodes, "
            f"every seed certifies {found.certified:.3f}{kept} ({seconds:.0f} s)"
        )

    def _prune(self) -> None:
        for batch, number in list(self._numbers.items()):
            if self.search.is_hopeless(batch):
                self.tasks.cancel([batch])
                self._queue = [other for other in self._queue if other != batch]
                del self._numbers[batch]
                self.search.prune(number)
                self._say(f"trial {number} was pruned: its return is surely below that of a better trial")


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
