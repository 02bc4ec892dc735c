"""What is raised about an environment that a user brings."""

import traceback
from pathlib import Path

FAILURES = (Exception, SystemExit)
"""What code of a user may raise. A `sys.exit` in it is a failure of that code, and never the exit status of ours.
Ctrl-C is left out: whoever presses it means all of us."""


class Unsuitable(ValueError):
    """An environment that cannot be trained on: one sentence for each of its faults."""

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class Faulty(RuntimeError):
    """An environment that did, in the middle of a training, what no environment may."""


class InItsProcess(Exception):
    """The traceback of an exception in another process, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def described(error: BaseException) -> str:
    """The type of an exception, its text, and the line that raised it."""
    text = " ".join(str(error).split())
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}{f': {text}' if text else ''}{place}"
