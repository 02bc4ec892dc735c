"""Settings as text: `horizon=50`, `cost_fit.window=3`, and for one algorithm alone `ascpo.mode=paper`."""

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from ascpo.algorithms import ALGORITHMS
from ascpo.runs.serialization import BadSetting, flat, to_plain

Overrides = Mapping[str, Any]
"""Settings by name. The name of a group or of an algorithm comes before it, with a dot."""


def read_overrides(typed: Iterable[str]) -> dict[str, object]:
    """Settings from the command line."""
    found: dict[str, object] = {}
    for text in typed:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise BadSetting(f"{text!r} is no setting. Write name=value, for example horizon=50 or cost_fit.window=3.")
        found[_name(name.strip())] = _value(value.strip())
    return found


def nested(overrides: Overrides, algo: str) -> dict[str, object]:
    """The overrides for one algorithm, as `configure` takes them: groups are dictionaries."""
    out: dict[str, Any] = {}
    for name, value in overrides.items():
        *groups, last = name.removeprefix(f"{algo}.").split(".")
        if groups and groups[0] in ALGORITHMS:
            continue
        inside = out
        for group in groups:
            inside = inside.setdefault(group, {})
        inside[last] = value
    return out


def differences(usual: object, other: object) -> dict[str, tuple[object, object]]:
    """The settings that differ: name → (usual, other)."""
    was, now = flat(to_plain(usual)), flat(to_plain(other))
    return {name: (was[name], now.get(name)) for name in was if was[name] != now.get(name)}


def _value(text: str) -> object:
    """A number, a list of numbers, True, False or None. Anything else is text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _name(text: str) -> str:
    """Names of algorithms keep their dashes, `trpo-lagrangian.strength`. Settings have underscores, `num_envs`."""
    first, dot, rest = text.replace("-", "_").partition(".")
    algo = first.replace("_", "-")
    return f"{algo if dot and algo in ALGORITHMS else first}{dot}{rest}"
