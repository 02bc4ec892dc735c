"""Exceptions about users' environments."""

import traceback
from pathlib import Path

FAILURES = (Exception, SystemExit)
"""Exceptions of users' code that count as its failures. `sys.exit` there is a failure, and never our exit status.
Ctrl-C is not included, since it stops the whole program."""


class Unsuitable(ValueError):
    """An environment that cannot be trained on, with a sentence for each fault."""

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class Faulty(RuntimeError):
    """An environment that returned something wrong, or raised an exception, during a training."""


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
