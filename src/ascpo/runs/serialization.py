"""Settings as plain data for JSON, and back. Values are checked on the way in."""

import dataclasses
import difflib
import types
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class BadSetting(ValueError):
    """A setting that does not exist, or a value that is not allowed."""


def to_plain(settings: Any) -> Any:
    """Dataclasses become dictionaries, tuples lists."""
    if dataclasses.is_dataclass(settings) and not isinstance(settings, type):
        return {field.name: to_plain(getattr(settings, field.name)) for field in dataclasses.fields(settings)}
    return [to_plain(item) for item in settings] if isinstance(settings, (tuple, list)) else settings


def from_plain(kind: type[T], data: Mapping[str, Any], name: str = "") -> T:
    """A dataclass from a dictionary. Missing fields keep their defaults."""
    return changed(kind(), data, name)


def changed(settings: T, changes: Mapping[str, Any], name: str = "") -> T:
    """The settings with some of them changed. Nested settings are changed by a dictionary."""
    hints = get_type_hints(type(settings))
    prefix = f"{name}." if name else ""
    fitted = {}
    for key, value in changes.items():
        if key not in hints:
            raise BadSetting(f"There is no setting {prefix}{key}. {nearest(key, hints)}")
        fitted[key] = _fit(hints[key], value, getattr(settings, key), prefix + key)
    return dataclasses.replace(settings, **fitted)  # pyright: ignore[reportArgumentType]


def flat(plain: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A config's plain data under the names of the command line's flags: `cost_fit.window`."""
    out: dict[str, Any] = {}
    for name, value in plain.items():
        path = prefix if name in ("settings", "method") and not prefix else f"{prefix}{name}"
        out |= flat(value, path and f"{path}.") if isinstance(value, Mapping) else {path: value}
    return out


def nearest(word: str, known: Iterable[str]) -> str:
    """A sentence that offers the closest words, or lists all of them."""
    known = list(known)
    plain = {_letters(name): name for name in known}
    close = difflib.get_close_matches(_letters(word), plain, n=3, cutoff=0.5)
    if close:
        return f"Did you mean {' or '.join(plain[match] for match in close)}?"
    return f"There are: {', '.join(known)}." if known else ""


def _letters(word: str) -> str:
    return "".join(letter for letter in word.lower() if letter.isalnum())


def _fit(hint: Any, value: Any, default: Any, name: str) -> Any:
    """The value as the type hint wants it. An error says what the hint wants."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        (hint,) = (kind for kind in inside if kind is not type(None))
        return _fit(hint, value, default, name)
    if dataclasses.is_dataclass(hint):
        return _fit_group(hint, value, default, name)
    if origin is tuple and isinstance(value, (tuple, list, int, float)):
        items = value if isinstance(value, (tuple, list)) else (value,)
        return tuple(_fit(inside[0], item, None, name) for item in items)
    if origin is Literal and isinstance(value, str) and value not in inside:
        raise BadSetting(f"{name}={value!r} is not known. {nearest(value, inside)}")
    if not _is(value, hint):
        raise BadSetting(f"{name}={value!r} must be {_describe(hint)}.")
    return value if origin is Literal else hint(value)


def _fit_group(kind: Any, value: Any, default: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return changed(default, value, name)
    if isinstance(value, kind):
        return value
    raise BadSetting(f"{name}={value!r} must be of type {_describe(kind)}, or a dictionary of its settings.")


def _is(value: Any, hint: Any) -> bool:
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    return isinstance(hint, type) and isinstance(value, hint)


def _describe(hint: Any) -> str:
    names = {float: "a number", int: "a whole number", bool: "True or False", str: "text"}
    if get_origin(hint) is tuple:
        return f"a list of {_describe(get_args(hint)[0]).removeprefix('a ')}s"
    if get_origin(hint) is Literal:
        return f"one of {', '.join(get_args(hint))}"
    return names.get(hint, getattr(hint, "__name__", str(hint)))
