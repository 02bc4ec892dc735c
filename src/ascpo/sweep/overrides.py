"""Settings as text: `horizon=50`, `cost_fit.window=3`, and for one algorithm alone `ascpo.mode=paper`."""

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from ascpo.algorithms import ALGORITHMS
from ascpo.runs.serialization import BadSetting, to_plain

Overrides = Mapping[str, Any]
"""Settings by name. The name of a group or of an algorithm comes before it, with a dot."""


def read_overrides(typed: Iterable[str]) -> dict[str, Any]:
    """Settings from the command line."""
    found: dict[str, Any] = {}
    for text in typed:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise BadSetting(f"{text!r} is no setting. Write name=value, for example horizon=50 or cost_fit.window=3.")
        found[_name(name.strip())] = _value(value.strip())
    return found


def nested(overrides: Overrides, algo: str) -> dict[str, Any]:
    """The overrides for one algorithm, as `configure` takes them: groups are dictionaries."""
    out: dict[str, Any] = {}
    for name, value in overrides.items():
        first, *rest = name.split(".")
        if rest and first in ALGORITHMS:
            if first != algo:
                continue
            first, *rest = rest
        *groups, last = first, *rest
        inside = out
        for group in groups:
            inside = inside.setdefault(group, {})
        inside[last] = value
    return out


def differences(usual: Any, other: Any, prefix: str = "") -> dict[str, tuple[Any, Any]]:
    """The settings that differ: name → (usual, other)."""
    was, now = to_plain(usual), to_plain(other)
    out: dict[str, tuple[Any, Any]] = {}
    for name in was:
        if isinstance(was[name], dict) and isinstance(now.get(name), dict):
            out |= differences(was[name], now[name], "" if name in ("settings", "method") else f"{prefix}{name}.")
        elif was[name] != now.get(name):
            out[f"{prefix}{name}"] = (was[name], now.get(name))
    return out


def _value(text: str) -> Any:
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
