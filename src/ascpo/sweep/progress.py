"""The progress of a sweep: which training of how many, and how long the rest will take. A line each."""

import time
from collections.abc import Sequence

from rich.console import Console

from ascpo.sweep.estimate import Pace, words
from ascpo.sweep.jobs import Order
from ascpo.sweep.scheduler import Done

_EVERY = 60.0
"""Seconds between two looks at trainings that run beside each other."""


class Board:
    """A watcher that prints."""

    def __init__(self, orders: Sequence[Order], pace: Pace, jobs: int = 1, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._pace = pace
        self._seconds = {order: pace.seconds(order.config, order.epochs_left) for order in orders}
        """Expected of those that are left."""
        self._jobs, self._of = jobs, len(orders)
        self._number: dict[Order, int] = {}
        self._expected = self._spent = 0.0
        self._counted: dict[Order, float] = {}
        """Seconds of those that were trained together, and are not yet at their end."""
        self._looked = time.monotonic()

    def begin(self, order: Order) -> None:
        self._begin([order])

    def begin_together(self, orders: Sequence[Order]) -> None:
        self._begin(orders)

    def _begin(self, orders: Sequence[Order]) -> None:
        for order in orders:
            self._number.setdefault(order, len(self._number) + 1)
            self._seconds.setdefault(order, 0.0)
        epochs = orders[0].config.epochs
        done = sorted({epochs - order.epochs_left for order in orders})
        going_on = ""
        if done[-1] > 0 and done[0] < epochs:
            going_on = f", going on after epoch {' to '.join(map(str, dict.fromkeys([done[0], done[-1]])))}"
        self._say(orders, f"{epochs} epochs{going_on}; {self._left()} left in all")

    def end_together(self, orders: Sequence[Order], seconds: float) -> None:
        self._expected += sum(self._seconds[order] for order in orders)
        self._spent += seconds
        for order in orders:
            self._seconds[order], self._counted[order] = 0.0, seconds / len(orders)
        self._say(orders, f"trained in {words(seconds)}; {self._left()} left in all")

    def fall_apart(self, orders: Sequence[Order], trouble: str) -> None:
        for order in orders:
            self._seconds[order] = self._pace.seconds(order.config, order.epochs_left)
        self._say(orders, f"failed: {trouble.rstrip('.')}; now in two halves, {self._left()} left in all")

    def end(self, done: Done) -> None:
        self._expected += self._seconds.pop(done.order, 0.0)
        self._spent += done.seconds - self._counted.pop(done.order, 0.0)
        how = f"failed: {done.trouble.rstrip('.')}" if done.how == "failed" else f"done in {words(done.seconds)}"
        self._say([done.order], f"{how}; {self._left()} left in all")

    def look(self, running: Sequence[Order]) -> None:
        for order in running if self._is_time() else ():
            self._say([order], _progress(order))

    def look_together(self, orders: Sequence[Order]) -> None:
        if self._is_time():
            # Those behind, if some are.
            self._say(orders, _progress(max(orders, key=lambda order: order.epochs_left)))

    def _is_time(self) -> bool:
        if time.monotonic() - self._looked < _EVERY:
            return False
        self._looked = time.monotonic()
        return True

    def _left(self) -> str:
        """As much as expected, corrected by how wrong that has been so far."""
        wrong = self._spent / self._expected if self._expected else 1.0
        return words(sum(self._seconds.values()) * wrong / self._jobs)

    def _say(self, orders: Sequence[Order], sentence: str) -> None:
        numbers = sorted(self._number[order] for order in orders)
        which, words = str(numbers[0]), orders[0].words
        if len(orders) > 1:
            which, words = f"{which} to {numbers[-1]}", f"{len(orders)} runs of {orders[0].config.env} together"
        self._console.print(f"[{which} of {self._of}] {words}: {sentence}", markup=False)


def _progress(order: Order) -> str:
    return f"epoch {order.config.epochs - order.epochs_left} of {order.config.epochs}"
