"""Orders that wait: which is next, and what became of those that were."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ascpo.sweep.jobs import Order

PATIENCE = 60.0
"""Seconds to wait for a training that another process is at, when all else is done."""


@dataclass(frozen=True)
class Done:
    """What became of an order."""

    order: Order
    how: Literal["trained", "there", "failed"]
    seconds: float = 0.0
    trouble: str = ""


class Queue:
    """Orders that are still to be done. Those that another process is at come last."""

    def __init__(self, orders: Sequence[Order], patience: float) -> None:
        self._orders = deque(orders)
        self._patience = patience
        self._since: float | None = None

    def next(self, done: list[Done], wait: bool = True) -> Order | None:
        """The next one to do; None if there is none left, or none now. What is done already, or cannot be, is noted."""
        while self._orders:
            for _ in range(len(self._orders)):
                order = self._orders.popleft()
                match _state(order, done):
                    case "ready":
                        self._since = None
                        return order
                    case "busy":
                        self._orders.append(order)
                    case "over":
                        pass
            if not self._orders or not wait:
                break
            self._since = self._since or time.monotonic()
            if time.monotonic() - self._since > self._patience:
                busy = "is being trained by another process. Run the same command again when that has finished."
                done += [noted(Done(order, "failed", trouble=f"{order.directory} {busy}")) for order in self._orders]
                self._orders.clear()
            else:
                time.sleep(min(1.0, self._patience))
        return None

    def company(self, done: list[Done], joins: Callable[[Sequence[Order], Order], bool]) -> list[Order]:
        """The next one to do, and all others that may join those before them; empty if there is none left."""
        first = self.next(done)
        if first is None:
            return []
        company, others = [first], []
        for order in self._orders:
            state = _state(order, done) if joins(company, order) else "not now"
            if state == "ready":
                company.append(order)
            elif state != "over":
                others.append(order)
        self._orders = deque(others)
        return company

    def give_back(self, orders: Sequence[Order]) -> None:
        """They are next."""
        self._orders.extendleft(reversed(orders))


def _state(order: Order, done: list[Done]) -> Literal["ready", "busy", "over"]:
    """Whether it can be done now. What is done already, or cannot be, is noted."""
    try:
        order.check()
    except ValueError as error:
        done.append(noted(Done(order, "failed", trouble=sentence(error))))
        return "over"
    if order.is_done():
        done.append(Done(order, "there"))
        return "over"
    return "busy" if order.is_busy() else "ready"


def sentence(error: Exception) -> str:
    return str(error) or type(error).__name__


def attempt(order: Order, do: Callable[[Order], None], before: float = 0.0) -> Done:
    """Do it, and note how it went. `before` are the seconds that it has had already."""
    began = time.monotonic() - before
    try:
        do(order)
        return noted(Done(order, "trained", time.monotonic() - began))
    except Exception as error:
        return noted(Done(order, "failed", time.monotonic() - began, sentence(error)))


def noted(done: Done) -> Done:
    """Why it failed is kept beside the runs, until it does not."""
    done.order.trouble.unlink(missing_ok=True)
    if done.how == "failed":
        done.order.trouble.parent.mkdir(parents=True, exist_ok=True)
        done.order.trouble.write_text(done.trouble + "\n")
    return done
