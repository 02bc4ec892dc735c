"""Conversion of settings to plain data for JSON, and back, with checks of the values."""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar, get_args, get_origin

from ascpo.errors import BadSetting, nearest
from ascpo.ranges import UNNAMED, Declared, check_value, declared, shown

T = TypeVar("T")
Plain = dict[str, Any]
"""A dictionary of JSON data."""


def to_plain(settings: object) -> Any:
    """Dataclasses become dictionaries, tuples lists."""
    if dataclasses.is_dataclass(settings) and not isinstance(settings, type):
        return {field.name: to_plain(getattr(settings, field.name)) for field in dataclasses.fields(settings)}
    return [to_plain(item) for item in settings] if isinstance(settings, (tuple, list)) else settings


def from_plain(kind: type[T], data: Mapping[str, object]) -> T:
    """A dataclass from a dictionary. Missing fields keep their defaults."""
    return changed(kind(), data)


def only(chosen: Mapping[str, T], kind: type) -> dict[str, T]:
    """The entries that are fields of the dataclass."""
    return {name: value for name, value in chosen.items() if name in kind.__dataclass_fields__}


def changed(settings: T, changes: Mapping[str, object], name: str = "") -> T:
    """The settings with some of them changed. Nested settings are changed by a dictionary."""
    fields = declared(type(settings))
    prefix = f"{name}." if name else ""
    fitted = {}
    for key, value in changes.items():
        if key not in fields:
            raise BadSetting(f"There is no setting {shown(prefix + str(key))[1:-1]}. {nearest(str(key), fields)}")
        fitted[key] = _fit(fields[key], value, getattr(settings, key), prefix + key)
    return dataclasses.replace(settings, **fitted)  # pyrefly: ignore[bad-specialization] (only dataclasses have fields)


def flat(plain: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """A config's plain data, flat, by the names of the command line's flags, such as `cost_fit.window`."""
    out: dict[str, object] = {}
    for name, value in plain.items():
        path = prefix if name in UNNAMED and not prefix else f"{prefix}{name}"
        out |= flat(value, path and f"{path}.") if isinstance(value, Mapping) else {path: value}
    return out


def unflat(named: Mapping[str, object]) -> Plain:
    """The inverse of `flat`: nested dictionaries from names such as `cost_fit.window`."""
    out: Plain = {}
    for name, value in named.items():
        *groups, last = name.split(".")
        inside = out
        for group in groups:
            inside = inside.setdefault(group, {})
            if not isinstance(inside, dict):
                raise BadSetting(f"{group} is given as a whole and in parts: {name}. Give only one of them.")
        inside[last] = value
    return out


def differences(usual: object, other: object) -> dict[str, tuple[object, object]]:
    """The settings that differ: name → (usual, other)."""
    was, now = flat(to_plain(usual)), flat(to_plain(other))
    return {name: (was[name], now.get(name)) for name in was if was[name] != now.get(name)}


def _fit(field: Declared, value: object, now: object, name: str) -> object:
    """Convert a value to the type of its field: lists to tuples, dictionaries to groups of settings, and 1 to 1.0."""
    hint = field.hint
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        return changed(now, value, name)
    if get_origin(hint) is tuple and isinstance(value, (list, int, float)) and not isinstance(value, bool):
        value = tuple(value) if isinstance(value, list) else (value,)
    check_value(field, value, name)
    number = get_args(hint)[0] if get_origin(hint) is tuple else hint
    if number is float and value is not None:
        return tuple(map(float, value)) if isinstance(value, tuple) else float(value)  # pyrefly: ignore[bad-argument-type]
    return value


def whole(name: str, value: object) -> int:
    """An int from an integral number, such as 6e6."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value // 1:
        return int(value)
    raise BadSetting(f"{name}={shown(value)} must be a whole number.")
