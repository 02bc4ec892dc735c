"""Do many trainings in companies: all that can share an engine are trained together, a suite's usually.

A company that fails goes on in two halves, and these again, down to runs that are alone: so the bad one is found, and
the others hardly lose more than the epoch in which it failed. Each run's numbers are those that it has alone.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from ascpo.runs.plain import BadSetting
from ascpo.sweep.executors import Watcher
from ascpo.sweep.jobs import Order
from ascpo.sweep.scheduler import PATIENCE, Done, Queue, attempt, sentence


class Trainer(Protocol):
    """Does the work."""

    def __call__(self, order: Order) -> None:
        """All that is left to do of one."""
        ...

    def train_together(self, orders: Sequence[Order], look: Callable[[], None]) -> None:
        """Train all of them; `look` is called now and then."""
        ...


class CompanyWatcher(Watcher, Protocol):
    """Is told what happens to companies, too."""

    def begin_together(self, orders: Sequence[Order]) -> None: ...

    def look_together(self, orders: Sequence[Order]) -> None: ...

    def end_together(self, orders: Sequence[Order], seconds: float) -> None:
        """All are trained. What is still to be done of each comes one by one."""
        ...

    def fall_apart(self, orders: Sequence[Order], trouble: str) -> None:
        """A company failed, and is split."""
        ...


def in_companies(
    orders: Sequence[Order], trainer: Trainer, watcher: CompanyWatcher, patience: float = PATIENCE
) -> list[Done]:
    """In this process."""
    queue, done = Queue(orders, patience), []
    half: dict[Order, str] = {}
    """Of a company that failed: which half, of which half, and so on."""

    def joins(company: Sequence[Order], order: Order) -> bool:
        return half.get(order) == half.get(company[0]) and can_share([*company, order])

    while company := queue.company(done, joins):
        seconds = 0.0  # of each, so far
        if len(company) == 1:
            watcher.begin(company[0])
        else:
            watcher.begin_together(company)
            began = time.monotonic()
            try:
                trainer.train_together(company, partial(watcher.look_together, company))
            except Exception as error:
                watcher.fall_apart(company, sentence(error))
                middle = len(company) // 2
                half |= {order: half.get(order, "") + str(int(i >= middle)) for i, order in enumerate(company)}
                queue.give_back(company)
                continue
            seconds = (time.monotonic() - began) / len(company)
            watcher.end_together(company, seconds * len(company))
        for order in company:
            end = attempt(order, trainer, seconds)
            done.append(end)
            watcher.end(end)
    return done


def can_share(orders: Sequence[Order]) -> bool:
    """Whether one engine serves them all. Those of which only episodes are missing need none."""
    from ascpo.runs.conduct import check_company

    if any(order.is_trained() for order in orders):
        return False
    try:
        check_company([order.config for order in orders])
    except BadSetting:
        return False
    return True
