"""Decide whether an environment that a run's files name may be opened.

Anybody may have written a run's files, and `env` in them can name any function of any module. So a name from a file is
used only if that imports nothing that the file chose: a suite of this package, or an id that an installed package has
registered with Gymnasium. Everything else needs the user's permission in the same call: the same name again, a factory,
or `trust_env`.
"""

import shlex

from ascpo.runs.environment_name import Environment, is_suite, name_of
from ascpo.runs.serialization import BadSetting


def trusted(named: str, env: Environment | None = None, *, trust_env: bool = False) -> Environment:
    """The environment that a run's files name, if it may be opened. An error says what to type."""
    if not isinstance(named, str):
        raise BadSetting(f"This run names {named!r} as its environment, which is not a string.")
    if env is not None and not isinstance(env, str):
        if is_suite(named):
            raise BadSetting(
                f"This run names the suite {_shown(named)} as its environment, and you gave {_shown(name_of(env))}. "
                f"Leave it out."
            )
        return env
    if "<" in named:
        raise BadSetting(
            f"This run was trained on {_shown(named)}, which cannot be found by its name. Give the function that makes "
            f"it in Python, such as ascpo.resume(run, env=...)."
        )
    if named.startswith("__main__:"):
        return _from_main(named, env)
    if env is not None and _suite_name(env) != _suite_name(named):
        raise BadSetting(
            f"This run names {_shown(named)} as its environment, and you named {_shown(env)}. Name the same one."
        )
    if env is None and not trust_env and names_code(named):
        raise BadSetting(
            f"This run names {_shown(named)} as its environment, which is code from outside this package. Reading a "
            f"run executes no code that its files name. If you trust this code, type --env {_shown(named)} or "
            f"--trust-env (in Python: env=... or trust_env=True)."
        )
    return named


def _from_main(named: str, env: str | None) -> str:
    """The environment that the user names for one from a script or notebook, which other programs cannot import.

    It must have the same function name in a module. Anything else is an error.
    """
    if env is not None and env.rpartition(":")[2] == named.rpartition(":")[2] and not env.startswith("__main__:"):
        return env
    function = _shown(named.rpartition(":")[2])
    raise BadSetting(
        f"This run was trained on {function} of a script or a notebook, which other programs cannot import by its "
        f"name. Put it into a module, and use --env MODULE:{function}. Or pass it again in Python: ascpo.resume, "
        f"evaluate and certify take env={function}."
    )


def names_code(named: str) -> bool:
    """Whether opening this environment imports a module that the name itself chooses."""
    return ":" in named


def flag_for(named: str) -> str:
    """The flag that a command about this run needs, after a space. Empty for most environments."""
    return f" --env {shlex.quote(named)}" if names_code(named) and "<" not in named else ""


def note_for(named: str) -> str:
    """A warning about an environment that cannot be imported by its name. Empty for most environments."""
    if "<" not in named and not named.startswith("__main__:"):
        return ""
    function = _shown(named.rpartition(":")[2])
    return (
        f"Other programs cannot import {function} by its name. To evaluate, certify or resume this run, pass the "
        f"function that makes the environment again: ascpo.evaluate(run, env=...)."
    )


def _suite_name(env: str) -> str:
    """A suite has two names: its own, and its Gymnasium id."""
    return name_of(env) if is_suite(env) else env


def _shown(named: str) -> str:
    """The name, quoted for a shell, since a hostile name may contain any characters."""
    return shlex.quote(named if named.isprintable() else ascii(named))
