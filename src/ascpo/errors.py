"""Errors that more than one layer raises, and suggestions for mistyped names."""

import difflib
from collections.abc import Iterable


class BadSetting(ValueError):
    """A setting that does not exist, or a value that is not allowed."""


class InertSetting(BadSetting):
    """A setting that was changed and changes nothing."""

    def __init__(self, name: str, value: object, why: str) -> None:
        shown = f"={value}" if isinstance(value, (int, float, str)) else ""
        super().__init__(f"{name}{shown} changes nothing: {why}. Leave it as it is.")
        self.name = name


OPENGL_PACKAGES = "'apt install libegl1 libopengl0 libgl1-mesa-dri' or 'apt install libosmesa6'"
"""Commands for Debian and Ubuntu that install an OpenGL for machines without a screen."""


def to_install(extra: str) -> str:
    """How to install an extra of this package: from an index, or from a checkout."""
    return f"pip install 'ascpo[{extra}]', or in a checkout pip install '.[{extra}]'"


def nearest(word: str, known: Iterable[str]) -> str:
    """A sentence that offers the closest words, or lists all of them."""
    known = list(known)
    plain = {_letters(name): name for name in known}
    if close := difflib.get_close_matches(_letters(word), plain, n=3, cutoff=0.5):
        return f"Did you mean {' or '.join(plain[match] for match in close)}?"
    return f"There are: {', '.join(known)}." if known else ""


def _letters(word: str) -> str:
    """The letters and digits to compare, at most a hundred: longer names cannot be misspellings."""
    return "".join(filter(str.isalnum, word[:100].lower()))
