"""Ctrl-C and SIGTERM: work is broken off at once, files never are."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any


class Stopped(KeyboardInterrupt):
    """A person or the system asked for an end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Stopping:
    """Turns the signals into `Stopped`: at once within `work`, otherwise at its next beginning or at the end."""

    def __init__(self) -> None:
        self._asked: int | None = None
        self._working = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Stopping":
        # Only the main thread hears signals; a training in another one is stopped as that thread is.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if kind is None and self._asked is not None:
            # Heard after the last work: what comes next is not to begin.
            raise Stopped(self._asked)

    @contextlib.contextmanager
    def work(self) -> Iterator[None]:
        """What may be broken off anywhere."""
        self._working = True
        try:
            if self._asked is not None:
                raise Stopped(self._asked)
            yield
        finally:
            self._working = False

    def _hear(self, number: int, _: FrameType | None) -> None:
        self._asked = number
        if self._working:
            self._working = False
            raise Stopped(number)
