"""Parse the arguments of a command, and check their values."""

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
    """Parse the options of a command. A value outside its range is refused with a sentence."""
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
    """Whether the command line has a flag, with its default or with another value."""
    return any(word.split("=")[0] == flag for word in words)


def plain_number(text: str) -> str:
    """Check that a number is written in ASCII. Python also reads the digits of other scripts, which look wrong."""
    if not text.isascii():
        raise ValueError(f"{text!r} is not a number in the digits 0 to 9.")
    return text


def _place(text: str) -> Path:
    """Read a path. An empty one is refused, although Python takes it for the current directory."""
    if not text:
        raise ValueError("The path is empty. Write a full stop for the current directory.")
    return Path(text)


_READERS: dict[type, Any] = {
    int: lambda text: int(plain_number(text)),
    float: lambda text: float(plain_number(text)),
    Path: _place,
}


@_RULES.primitive_rule
def _strictly(kind: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """Read numbers and paths strictly. Other types are read as tyro reads them."""
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
