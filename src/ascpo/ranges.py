"""The ranges of settings, which are declared beside each field and checked here.

    delta: Annotated[float, Range(above=0.0)] = 0.02

`check` walks a dataclass and those inside it, so that an error names a setting as it is typed: `trust_region.delta`.
What decides the numbers of a run, `Settings` and `Config`, is checked when it is made, and so are the options of every
command. A number without a range must be finite.
"""

import dataclasses
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass
from functools import cache, cached_property
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Protocol,
    TypeGuard,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

from ascpo.errors import BadSetting, nearest

Hint = Any
"""A type hint: a class, a union or a literal. Python has no common type for them."""
UNNAMED = ("settings", "method", "options", "request", "store", "grid", "placement", "resources")
"""Groups whose settings are given without the name of the group."""
_LARGEST = 1e30
"""Further numbers would overflow in single precision."""
_SHOWN = 80
"""The most characters of a value that a message shows."""


@runtime_checkable
class Dataclass(Protocol):
    """Any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


@dataclass(frozen=True)
class Range:
    """The range of a number, or of each number of a list."""

    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    items: int = 100
    """The largest number of entries of a list."""

    def holds(self, value: float) -> bool:
        low = -_LARGEST if self.at_least is None else self.at_least
        high = _LARGEST if self.at_most is None else self.at_most
        # NaN is not in any range: every comparison with it is false.
        return (
            low <= value <= high
            and (self.above is None or self.above < value)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        if self.at_least is not None and self.at_most is not None:
            return f"from {_number(self.at_least)} to {_number(self.at_most)}"
        named = {"above": self.above, "of at least": self.at_least, "below": self.below, "at most": self.at_most}
        parts = [f"{word} {_number(bound)}" for word, bound in named.items() if bound is not None]
        return " and ".join(parts) or f"that is finite, and at most {_LARGEST:g} in size"


Positive = Annotated[float, Range(above=0.0)]
NonNegative = Annotated[float, Range(at_least=0.0)]
Fraction = Annotated[float, Range(at_least=0.0, at_most=1.0)]
"""From 0 to 1, both included."""
Probability = Annotated[float, Range(above=0.0, below=1.0)]
LearningRate = Annotated[float, Range(above=0.0, at_most=10.0)]
Iterations = Annotated[int, Range(at_least=1, at_most=10**6)]
Episodes = Annotated[int, Range(at_least=1, at_most=10**7)]
"""The range of numbers of episodes. A larger list would not fit into memory."""
EpisodeSteps = Annotated[int, Range(at_least=1, at_most=10**9)]
Threads = Annotated[int, Range(at_least=0, at_most=4096)]
Seed = Annotated[int, Range(at_least=0, at_most=2**32 - 1)]


@dataclass(frozen=True)
class Declared:
    """The declaration of a field of a dataclass of settings."""

    hint: Hint
    """Its type, without None and annotations."""
    bounds: Range | None = None
    optional: bool = False
    """Whether it may be None."""
    default: object = None

    @cached_property
    def origin(self) -> object:
        """Of the hint: tuple, Literal, or None."""
        return get_origin(self.hint)

    @cached_property
    def item(self) -> "Declared":
        """What the items of a tuple are."""
        return Declared(get_args(self.hint)[0], self.bounds)


@cache
def declared(kind: type) -> Mapping[str, Declared]:
    """The fields of a dataclass, by their names."""
    hints = get_type_hints(kind, include_extras=True)
    defaults = {field.name: None if field.default is MISSING else field.default for field in dataclasses.fields(kind)}
    return {name: dataclasses.replace(_declared(hints[name]), default=default) for name, default in defaults.items()}


def check(settings: Dataclass, name: str = "") -> None:
    """Refuse settings if one has the wrong type, or is not in its range. Nested groups are checked too."""
    for key, field in declared(type(settings)).items():
        check_value(field, getattr(settings, key), name if key in UNNAMED else f"{name}.{key}".lstrip("."))


def check_value(field: Declared, value: object, name: str) -> None:
    """Refuse a value that has the wrong type, or is not in its range."""
    if value is None and field.optional:
        return
    if field.origin is tuple:
        _check_items(field, value, name)
    elif field.origin is Literal and isinstance(value, str) and not _may_be(value, field):
        raise BadSetting(f"{name}={shown(value)} is not known. {nearest(value, map(str, get_args(field.hint)))}")
    elif not _may_be(value, field) or (_is_number(value) and not (field.bounds or Range()).holds(value)):
        raise _refusal(field, value, name, _describe(field.hint, field.bounds))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        check(value, name)


def shown(value: object) -> str:
    """The repr of a value, shortened if it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # A whole number of thousands of digits, or lists in lists in lists.
        text = f"a very long {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _check_items(field: Declared, value: object, name: str) -> None:
    if not isinstance(value, tuple) or (not value and field.default not in ((), None)):
        wanted = "a tuple, not a list" if isinstance(value, list) else _describe(field.hint, field.bounds)
        raise _refusal(field, value, name, wanted)
    if field.bounds and len(value) > field.bounds.items:
        raise BadSetting(f"{name} has {len(value)} entries. It may have at most {field.bounds.items}.")
    for one in value:
        check_value(field.item, one, name)


def _declared(hint: Hint) -> Declared:
    """A description of a type hint."""
    if get_origin(hint) is Annotated:
        inside, *notes = get_args(hint)
        found = _declared(inside)
        bounds = next((note for note in notes if isinstance(note, Range)), found.bounds)
        return dataclasses.replace(found, bounds=bounds)
    if get_origin(hint) in (Union, types.UnionType):
        others = [kind for kind in get_args(hint) if kind is not type(None)]
        found = _declared(others[0]) if len(others) == 1 else Declared(hint)
        return dataclasses.replace(found, optional=len(others) < len(get_args(hint)))
    return Declared(hint)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _may_be(value: object, field: Declared) -> bool:
    """Whether the value has the type. Hints that cannot be checked, such as protocols, accept everything."""
    hint = field.hint
    if field.origin is Literal:
        return any(value == known and type(value) is type(known) for known in get_args(hint))
    if not isinstance(hint, type) or getattr(hint, "_is_protocol", False):
        return True
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, (int, float) if hint is float else hint)


def _refusal(field: Declared, value: object, name: str, wanted: str) -> BadSetting:
    default = field.default
    usual = f" The default is {default!r}." if isinstance(default, (int, float, str, tuple)) and default != () else ""
    return BadSetting(f"{name}={shown(value)} must be {wanted}.{usual}")


def _describe(hint: Hint, bounds: Range | None) -> str:
    names = {float: "a number", int: "a whole number", bool: "True or False", str: "text"}
    if get_origin(hint) is tuple:
        plural = _describe(get_args(hint)[0], bounds).removeprefix("a ").replace("number", "numbers", 1)
        return f"a list of {plural}"
    if get_origin(hint) is Literal:
        return f"one of {', '.join(map(str, get_args(hint)))}"
    words = names.get(hint, f"of type {getattr(hint, '__name__', hint)}")
    if hint is float or (hint is int and bounds):
        return f"{words} {bounds or Range()}"
    return f"{words}, or a dictionary of its settings" if dataclasses.is_dataclass(hint) else words


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"
