"""Ctrl-C and SIGTERM: they stop work at once, but never while a file is written."""

import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

_UNHEARD = {("remove", "weakref.py"), ("_remove", "_weakrefset.py"), ("cb", "<frozen importlib._bootstrap>")}
"""Callbacks of weak references in Python's standard library, in which exceptions are lost."""


class Stopped(KeyboardInterrupt):
    """The user or the system asked the training to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def stop(number: int, frame: FrameType | None) -> None:
    """A signal handler that raises `Stopped`, now or in a moment.

    Python drops exceptions in finalisers and in callbacks of the garbage collector. JAX has such a callback, in which
    signals are often handled. There the signal is sent again, as it is after a `Stopped` that was dropped all the same,
    such as in a generator that is collected.
    """
    if not _is_heard(frame):
        _send_again(number)
        return
    if not isinstance(sys.unraisablehook, _OnDropped):
        sys.unraisablehook = _OnDropped(sys.unraisablehook)
    raise Stopped(number)


@dataclass(frozen=True)
class _OnDropped:
    """Python calls this with every exception that it drops."""

    before: Callable[["sys.UnraisableHookArgs"], object]

    def __call__(self, dropped: "sys.UnraisableHookArgs") -> None:
        if isinstance(dropped.exc_value, Stopped):
            _send_again(dropped.exc_value.number)
        else:
            self.before(dropped)


def _send_again(number: int) -> None:
    again = threading.Timer(0.01, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()


def _is_heard(frame: FrameType | None) -> bool:
    """Whether an exception that is raised in this frame is propagated."""
    callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        code = frame.f_code
        if code in callbacks or (code.co_name, Path(code.co_filename).name) in _UNHEARD or code.co_name == "__del__":
            return False
        frame = frame.f_back
    return True


class Stopping:
    """Turns the signals into `Stopped`: at once within `work`, otherwise when work begins again or at the end."""

    def __init__(self) -> None:
        self._asked: int | None = None
        self._working = False
        self._handlers = contextlib.ExitStack()
        """Restores the earlier signal handlers."""

    def __enter__(self) -> "Stopping":
        # Only the main thread receives signals. A training in another thread stops with that thread.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._handlers.callback(signal.signal, number, signal.signal(number, self._receive))
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._handlers.close()
        if kind is None and self._asked is not None:
            # The signal came after the last work, so nothing else may start.
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

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self._asked = number
        if self._working:
            self._working = not _is_heard(frame)
            stop(number, frame)
