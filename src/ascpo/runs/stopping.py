"""Ctrl-C and SIGTERM: they stop work at once, and never in the middle of writing a file."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class Stopped(KeyboardInterrupt):
    """A person or the system asked the training to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Stopping:
    """Turns the signals into `Stopped`: at once within `work`, otherwise when work begins again or at the end."""

    def __init__(self) -> None:
        self._asked: int | None = None
        self._working = False
        self._handlers = contextlib.ExitStack()
        """Puts back what the signals meant before."""

    def __enter__(self) -> "Stopping":
        # Only the main thread receives signals. A training in another thread stops with that thread.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._handlers.callback(signal.signal, number, signal.signal(number, self._receive))
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._handlers.close()
        if kind is None and self._asked is not None:
            # The signal came after the last work: whatever follows must not begin.
            raise Stopped(self._asked)

    @contextlib.contextmanager
    def work(self) -> Iterator[None]:
        """Code that may be interrupted anywhere."""
        self._working = True
        try:
            if self._asked is not None:
                raise Stopped(self._asked)
            yield
        finally:
            self._working = False

    def _receive(self, number: int, _: FrameType | None) -> None:
        self._asked = number
        if self._working:
            self._working = False
            raise Stopped(number)
