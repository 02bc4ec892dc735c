"""Standard output and error that survive a closed pipe: once their reader is gone, further output is dropped.

So `ascpo train … | head -1` trains to the end, and its exit status reports the training. A BrokenPipeError that reaches
the caller is then never from these two streams, but from an environment, a robot or another process.
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
    """Keep running after the readers of standard output and error are gone."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _lasting(sys.stdout), _lasting(sys.stderr)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            # If this cannot be written, the flush inside has already reported it.
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        sys.stdout, sys.stderr = before


def _lasting(stream: TextIO) -> TextIO:
    # None if it was closed from the beginning. In tests and notebooks it is not a file.
    if stream not in (sys.__stdout__, sys.__stderr__) or not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Outlet(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or stream is sys.__stderr__,
    )
