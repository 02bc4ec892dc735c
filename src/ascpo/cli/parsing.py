"""Read the words of a command, and check what they say."""

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, get_origin

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from ascpo.ranges import Dataclass, check

T = TypeVar("T", bound=Dataclass)
_RULES = ConstructorRegistry()


def parsed(kind: type[T], words: list[str], prog: str, default: T | None = None) -> T:
    """The options of a command. One that is not in its range is refused with a sentence."""
    known = tyro.MISSING_NONPROP if default is None else default
    with _RULES:
        asked = tyro.cli(kind, args=words, prog=prog, default=known, description=_description(kind))
    check(asked)
    return asked


def _description(kind: type) -> str:
    """The docstring of a command, a line for each paragraph. That of a generic class is its class's."""
    text = inspect.getdoc(get_origin(kind) or kind) or ""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)


def typed(flag: str, words: Sequence[str]) -> bool:
    """Whether the words have a flag, with its default or with another value."""
    return any(word.split("=")[0] == flag for word in words)


def plain_number(text: str) -> str:
    """The text of a number, if it is ASCII: Python reads the digits of every script, and people do not."""
    if not text.isascii():
        raise ValueError(f"{text!r} is not a number that is written with the digits 0 to 9.")
    return text


def _place(text: str) -> Path:
    """A path. An empty one is no place, although Python takes it for the current directory."""
    if not text:
        raise ValueError("It is empty. The current directory is written as a full stop.")
    return Path(text)


_READERS: dict[type, Any] = {
    int: lambda text: int(plain_number(text)),
    float: lambda text: float(plain_number(text)),
    Path: _place,
}


@_RULES.primitive_rule
def _strictly(kind: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """How numbers and paths are read. All else is as in tyro."""
    if kind.type not in _READERS:
        return None
    read, wanted = _READERS[kind.type], (int, float) if kind.type is float else kind.type
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=kind.type.__name__.upper(),
        instance_from_str=lambda words: read(words[0]),
        is_instance=lambda value: isinstance(value, wanted),
        str_from_instance=lambda value: [str(value)],
    )
