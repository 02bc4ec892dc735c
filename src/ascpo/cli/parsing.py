"""Read the words of a command, and check what they say."""

from typing import TypeVar

import tyro

from ascpo.ranges import check

T = TypeVar("T")


def parsed(kind: type[T], words: list[str], prog: str, default: T | None = None) -> T:
    """The options of a command. One that is not in its range is refused with a sentence."""
    known = tyro.MISSING_NONPROP if default is None else default
    asked = tyro.cli(kind, args=words, prog=prog, default=known)
    check(asked)
    return asked
