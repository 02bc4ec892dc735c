"""The progress of a sweep: which training of how many, and how long the rest will take. A line each."""

import time
from collections.abc import Sequence

from rich.console import Console

from ascpo.paper.hours import Pace, words
from ascpo.paper.orders import Order
from ascpo.paper.sweep import Done

_EVERY = 60.0
"""Seconds between two looks at trainings that run beside each other."""


class Board:
    """A watcher that prints."""

    def __init__(self, orders: Sequence[Order], pace: Pace, jobs: int = 1, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._seconds = {order: pace.seconds(order.config, order.epochs_left) for order in orders}
        """Expected of those that are left."""
        self._jobs, self._of, self._count = jobs, len(orders), 0
        self._number: dict[Order, int] = {}
        self._expected = self._spent = 0.0
        self._looked = time.monotonic()

    def begin(self, order: Order) -> None:
        self._count += 1
        self._number[order] = self._count
        self._seconds.setdefault(order, 0.0)
        done = order.config.epochs - order.epochs_left
        going_on = f", going on after epoch {done}" if 0 < done < order.config.epochs else ""
        self._say(order, f"{order.config.epochs} epochs{going_on}; {self._left()} left in all")

    def end(self, done: Done) -> None:
        self._expected += self._seconds.pop(done.order, 0.0)
        self._spent += done.seconds
        how = f"failed: {done.trouble.rstrip('.')}" if done.how == "failed" else f"done in {words(done.seconds)}"
        self._say(done.order, f"{how}; {self._left()} left in all")

    def look(self, running: Sequence[Order]) -> None:
        if time.monotonic() - self._looked < _EVERY:
            return
        self._looked = time.monotonic()
        for order in running:
            self._say(order, f"epoch {order.config.epochs - order.epochs_left} of {order.config.epochs}")

    def _left(self) -> str:
        """As much as expected, corrected by how wrong that has been so far."""
        wrong = self._spent / self._expected if self._expected else 1.0
        return words(sum(self._seconds.values()) * wrong / self._jobs)

    def _say(self, order: Order, sentence: str) -> None:
        self._console.print(f"[{self._number[order]} of {self._of}] {order.words}: {sentence}", markup=False)
