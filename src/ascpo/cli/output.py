"""Our standard output and error: when their reader goes away, the rest of the output goes nowhere.

A command goes on to its end without a reader (`ascpo train … | head -1`), and its exit status says how that went. So a
broken pipe that anybody hears of is never one of these two, but that of an environment, a robot or another process.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO


class _Outlet(io.FileIO):
    def write(self, b: Any, /) -> int:  # Any object with a buffer.
        try:
            return super().write(b)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return memoryview(b).nbytes


@contextlib.contextmanager
def lasting_output() -> Iterator[None]:
    """Outlive the readers of standard output and error."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _lasting(sys.stdout), _lasting(sys.stderr)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            # What cannot be written now was said to be so by the flush within.
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        sys.stdout, sys.stderr = before


def _lasting(stream: TextIO) -> TextIO:
    # None if it was closed from the beginning. In tests and notebooks it is no file.
    if stream not in (sys.__stdout__, sys.__stderr__) or not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Outlet(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or stream is sys.__stderr__,
    )
