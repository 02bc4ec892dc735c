"""Names of environments. This module imports nothing slow, so that typing errors are answered at once."""

import difflib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import gymnasium

from ascpo.engines.gymnasium.naming import resolve
from ascpo.errors import BadSetting
from ascpo.guard import suites
from ascpo.guard.suites import UnknownSuite, suite

if TYPE_CHECKING:
    from ascpo.engines.functional.world import World

Environment = str | Callable[[], "gymnasium.Env | World"]


def name_of(env: Environment) -> str:
    """The name of an environment in a run's config, by which a resumed run finds it."""
    if not isinstance(env, str):
        if not callable(env):
            raise BadSetting(
                f"This {type(env).__name__} is one environment, and several are needed. Give the class or function "
                f"that makes it."
            )
        return f"{getattr(env, '__module__', '?')}:{getattr(env, '__qualname__', type(env).__name__)}"
    try:
        return suite(_short(env)).name
    except UnknownSuite as no_suite:
        if resolve(env) is not None:
            return env
        if re.fullmatch(r"Safety\w+-v\d+", env):
            raise UnknownSuite(_of_safety_gymnasium(env)) from None
        others = [name for name in gymnasium.registry if not name.startswith("ascpo/")]
        close = difflib.get_close_matches(env, others, n=2, cutoff=0.75)
        also = f" Or the Gymnasium environment {' or '.join(close)}?" if close else ""
        raise UnknownSuite(f"{no_suite}{also}") from None


def _of_safety_gymnasium(env: str) -> str:
    """The answer to a name of Safety-Gymnasium, whose package pins versions that this one cannot have."""
    return (
        f"{env} is an environment of Safety-Gymnasium, whose package does not import beside this one. Run it in a "
        f"process of another Python: docs/how-to/other-environments.md shows how, with examples/other_python.py."
    )


def is_suite(env: Environment) -> bool:
    return isinstance(env, str) and suites.is_suite(_short(env))


def _short(env: str) -> str:
    """A suite's Gymnasium id is its name with a namespace and a version."""
    return env.removeprefix("ascpo/").removesuffix("-v0")
