"""Settings as plain data for JSON, and back. Values are checked on the way in."""

import dataclasses
import difflib
import types
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
Plain = dict[str, Any]
"""Data as JSON has it, by name."""
Hint = Any
"""A type hint: a class, a union or a literal. Python has no common type for them."""


class BadSetting(ValueError):
    """A setting that does not exist, or a value that is not allowed."""


def to_plain(settings: Any) -> Any:
    """Dataclasses become dictionaries, tuples lists."""
    if dataclasses.is_dataclass(settings) and not isinstance(settings, type):
        return {field.name: to_plain(getattr(settings, field.name)) for field in dataclasses.fields(settings)}
    return [to_plain(item) for item in settings] if isinstance(settings, (tuple, list)) else settings


def from_plain(kind: type[T], data: Mapping[str, object]) -> T:
    """A dataclass from a dictionary. Missing fields keep their defaults."""
    return changed(kind(), data)


def only(chosen: Mapping[str, T], kind: type) -> dict[str, T]:
    """Those that are fields of the dataclass."""
    return {name: value for name, value in chosen.items() if name in kind.__dataclass_fields__}


def changed(settings: T, changes: Mapping[str, object], name: str = "") -> T:
    """The settings with some of them changed. Nested settings are changed by a dictionary."""
    hints = get_type_hints(type(settings))
    prefix = f"{name}." if name else ""
    fitted = {}
    for key, value in changes.items():
        if key not in hints:
            raise BadSetting(f"There is no setting {prefix}{key}. {nearest(key, hints)}")
        fitted[key] = _fit(hints[key], value, getattr(settings, key), prefix + key)
    return dataclasses.replace(settings, **fitted)  # pyright: ignore[reportArgumentType]


def flat(plain: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """A config's plain data under the names of the command line's flags: `cost_fit.window`."""
    out: dict[str, object] = {}
    for name, value in plain.items():
        path = prefix if name in ("settings", "method") and not prefix else f"{prefix}{name}"
        out |= flat(value, path and f"{path}.") if isinstance(value, Mapping) else {path: value}
    return out


def unflat(named: Mapping[str, object]) -> Plain:
    """Settings as dictionaries within dictionaries, from their names on the command line."""
    out: Plain = {}
    for name, value in named.items():
        *groups, last = name.split(".")
        inside = out
        for group in groups:
            inside = inside.setdefault(group, {})
        inside[last] = value
    return out


def differences(usual: object, other: object) -> dict[str, tuple[object, object]]:
    """The settings that differ: name → (usual, other)."""
    was, now = flat(to_plain(usual)), flat(to_plain(other))
    return {name: (was[name], now.get(name)) for name in was if was[name] != now.get(name)}


def nearest(word: str, known: Iterable[str]) -> str:
    """A sentence that offers the closest words, or lists all of them."""
    known = list(known)
    plain = {_letters(name): name for name in known}
    if close := difflib.get_close_matches(_letters(word), plain, n=3, cutoff=0.5):
        return f"Did you mean {' or '.join(plain[match] for match in close)}?"
    return f"There are: {', '.join(known)}." if known else ""


def _letters(word: str) -> str:
    return "".join(filter(str.isalnum, word.lower()))


def _fit(hint: Hint, value: object, default: object, name: str) -> object:
    """The value as the type hint wants it. An error says what the hint wants."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        (hint,) = (kind for kind in inside if kind is not type(None))
        return _fit(hint, value, default, name)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        if isinstance(value, Mapping):
            return changed(default, value, name)
        if not isinstance(value, hint):
            raise BadSetting(f"{name}={value!r} must be of type {hint.__name__}, or a dictionary of its settings.")
        return value
    if origin is tuple and isinstance(value, (tuple, list, int, float)):
        items = value if isinstance(value, (tuple, list)) else (value,)
        return tuple(_fit(inside[0], item, None, name) for item in items)
    if origin is Literal and isinstance(value, str) and value not in inside:
        raise BadSetting(f"{name}={value!r} is not known. {nearest(value, inside)}")
    if not _is(value, hint):
        raise BadSetting(f"{name}={value!r} must be {_describe(hint)}.")
    return value if origin is Literal else hint(value)


def _is(value: object, hint: Hint) -> bool:
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if isinstance(value, bool):
        return hint is bool
    return isinstance(hint, type) and isinstance(value, (int, float) if hint is float else hint)


def _describe(hint: Hint) -> str:
    names = {float: "a number", int: "a whole number", bool: "True or False", str: "text"}
    if get_origin(hint) is tuple:
        return f"a list of {_describe(get_args(hint)[0]).removeprefix('a ')}s"
    if get_origin(hint) is Literal:
        return f"one of {', '.join(map(str, get_args(hint)))}"
    return names.get(hint, getattr(hint, "__name__", str(hint)))
