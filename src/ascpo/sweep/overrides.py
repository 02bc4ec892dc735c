"""Settings as text: `horizon=50`, `cost_fit.window=3`, and for one algorithm alone `ascpo.mode=paper`."""

import ast
from collections.abc import Iterable, Mapping

from ascpo.algorithms import ALGORITHMS
from ascpo.ranges import shown
from ascpo.runs.serialization import BadSetting, unflat

Overrides = Mapping[str, object]
"""Settings by name, with the name of a group or of an algorithm as a prefix."""


def read_overrides(typed: Iterable[str]) -> dict[str, object]:
    """Settings from the command line."""
    found: dict[str, object] = {}
    for text in typed:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise BadSetting(
                f"{shown(text)} is not a setting. Write name=value, for example horizon=50 or cost_fit.window=3."
            )
        found[_name(name.strip())] = _value(value.strip())
    return found


def nested(overrides: Overrides, algo: str) -> dict[str, object]:
    """The overrides for one algorithm, as `configure` takes them: groups are dictionaries."""
    mine = {name.removeprefix(f"{algo}."): value for name, value in overrides.items()}
    others = tuple(f"{other}." for other in ALGORITHMS)
    return unflat({name: value for name, value in mine.items() if not name.startswith(others)})


def _value(text: str) -> object:
    """A number, a list of numbers, True, False or None. Anything else is text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):  # `literal_eval` raises all of these.
        return text


def _name(text: str) -> str:
    """Names of algorithms keep their dashes, `trpo-lagrangian.strength`. Settings have underscores, `num_envs`."""
    first, dot, rest = text.replace("-", "_").partition(".")
    algo = first.replace("_", "-")
    return f"{algo if dot and algo in ALGORITHMS else first}{dot}{rest}"
