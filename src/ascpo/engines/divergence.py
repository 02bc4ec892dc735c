"""Simulations that diverged."""

import logging
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

NOT_FINITE = "a sensor reads NaN or infinity"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Divergence:
    """A simulation that diverged, and its location."""

    env: int
    """The number of the environment within its run."""
    seed: int
    episode: int
    step: int
    reason: str

    def __str__(self) -> str:
        where = f"environment {self.env} (seed {self.seed}, episode {self.episode}, step {self.step})"
        return f"The simulation broke down in {where}: {self.reason}."


class Divergences(deque[Divergence]):
    """The latest simulations that diverged."""

    def __init__(self) -> None:
        super().__init__(maxlen=1000)

    def report(self, found: Iterable[Divergence]) -> None:
        """Log simulations that diverged, and keep them."""
        for divergence in found:
            _log.warning("%s", divergence)
            self.append(divergence)


@runtime_checkable
class Simulating(Protocol):
    """An engine whose simulations may diverge."""

    divergences: Divergences
