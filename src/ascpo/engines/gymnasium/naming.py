"""Names of environments: from the text that a user types to a function that makes the environment."""

import difflib
import functools
import importlib
import os
import sys
from collections.abc import Callable
from inspect import Parameter, signature
from types import ModuleType
from typing import Any, TypeAlias

import gymnasium

from ascpo.engines.gymnasium.errors import FAILURES, Unsuitable

Info: TypeAlias = dict[str, Any]
"""What an environment returns beside an observation or a step."""
AnyEnv: TypeAlias = gymnasium.Env
MakeEnv: TypeAlias = Callable[[], AnyEnv]


def name_of(make: Callable[..., object]) -> str:
    """The name of a function or class, for messages."""
    named = make.func if isinstance(make, functools.partial) else make
    return f"{getattr(named, '__module__', '?')}:{getattr(named, '__qualname__', type(named).__name__)}"


def resolve(text: str) -> MakeEnv | None:
    """The function that makes the environment of this name. None if there is no such environment.

    A registered id (`Pendulum-v1`), an id with the module that registers it (`package:Id-v0`), or a class or function
    (`package.module:make`), for which the current directory is searched too.
    """
    module_name, colon, name = text.partition(":")
    if not colon:
        return _registered(text) if text in gymnasium.registry else None
    if module_name.endswith(".py"):
        module = module_name.removesuffix(".py").replace("/", ".").strip(".")
        raise Unsuitable(f"{module_name} is a file. Name its module: {module}:{name or 'make'}")
    if not name or not all(part.isidentifier() for part in module_name.split(".")):
        return None
    module = imported(module_name)
    if name in gymnasium.registry:
        return _registered(name)
    if not hasattr(module, name):
        raise Unsuitable(_no_such_name(module, name))
    make: MakeEnv = getattr(module, name)
    if not callable(make):
        raise Unsuitable(f"{text} is a {type(make).__name__}. Name a class, or a function that makes an environment.")
    if missing := _missing_arguments(make):
        remedy = "Write a function without arguments that makes the environment with them, and name that."
        raise Unsuitable(f"{text} cannot be called without {', '.join(missing)}. {remedy}")
    return make


def named(text: str) -> MakeEnv:
    """As `resolve`, but an unknown name is an error."""
    if (make := resolve(text)) is None:
        give = "a registered id such as Pendulum-v1, the module that registers it too (package:Id-v0), or a class or"
        raise Unsuitable(
            f"{text} is not an environment that Gymnasium knows. Give {give} function (package.module:make)."
        )
    return make


def _registered(name: str) -> MakeEnv:
    # The specification rather than the id: then a process can use it without importing the module that registers it.
    return functools.partial(gymnasium.make, gymnasium.spec(name))


def imported(name: str) -> ModuleType:
    """Import a module. The current directory is searched, too."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except FAILURES as error:
        remedy = f"Try python -c 'import {name}' from this directory ({here})."
        raise Unsuitable(f"The module {name} does not import: {type(error).__name__}: {error}. {remedy}") from error


def _no_such_name(module: ModuleType, name: str) -> str:
    if name.isidentifier():
        known, words = [one for one in vars(module) if not one.startswith("_")], f"{module.__name__} has no {name}."
    else:
        known, words = list(gymnasium.registry), f"Importing {module.__name__} registers no environment {name}."
    near = difflib.get_close_matches(name, known)
    return f"{words} " + (f"Did you mean {' or '.join(near)}?" if near else "Check the name in the module.")


def _missing_arguments(make: MakeEnv) -> list[str]:
    try:
        parameters = signature(make).parameters.values()
    except (TypeError, ValueError):
        return []  # Not every callable tells.
    optional = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return [one.name for one in parameters if one.default is Parameter.empty and one.kind not in optional]
