"""Is an environment fit to train on? And which one is meant by what a person types.

An environment is tried out before a training begins, so that all of its faults are named at once, in sentences.
"""

import difflib
import functools
import importlib
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, signature
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from jaxtyping import Float

from ascpo.engines.trial import Trial, short

AnyEnv = gymnasium.Env[Any, Any]

_HUGE = 1e30
"""A bound beyond it is none: some spaces write the largest float for infinity."""


class Unsuitable(ValueError):
    """An environment that cannot be trained on: one sentence for each of its faults."""

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class Faulty(RuntimeError):
    """An environment that did, in the middle of a training, what no environment may."""


@dataclass(frozen=True)
class Inspection:
    """What trying an environment out has told."""

    observation_size: int
    action_size: int
    low: tuple[float, ...]
    """Bounds of the actions, flat; infinite where there are none."""
    high: tuple[float, ...]
    cost_names: tuple[str, ...]
    remarks: tuple[str, ...]
    """Warnings, a sentence each."""


def inspect(make: Callable[[], AnyEnv]) -> Inspection:
    """Make an environment, try it out, and close it. Raises `Unsuitable` with all that is wrong with it."""
    env: Any = make()
    if not isinstance(env, gymnasium.Env):
        raise Unsuitable(_not_an_environment(env))
    try:
        faults = [*_faults_of_actions(env), *_faults_of_observations(env)]
        tried = Trial(env)
        if isinstance(getattr(env, "action_space", None), gymnasium.Space):
            tried.run()
        faults += tried.faults
        if faults:
            raise Unsuitable(*dict.fromkeys(faults))
        low, high = bounds(env.action_space)
        names, remarks = _cost_names(env, tried.m)
        return Inspection(
            observation_size=int(np.prod(env.observation_space.shape or ())),
            action_size=low.size,
            low=tuple(low.tolist()),
            high=tuple(high.tolist()),
            cost_names=names,
            remarks=(
                *_remarks_of_actions(env.action_space),
                *remarks,
                *tried.remarks(),
                *_remarks_of_length(env, tried),
            ),
        )
    finally:
        env.close()


def bounds(space: Any) -> tuple[Float[np.ndarray, " act"], Float[np.ndarray, " act"]]:
    """The bounds of a Box, flat. Integers that stand for "no bound" become infinite."""
    low, high = space.low.ravel().astype(np.float32), space.high.ravel().astype(np.float32)
    below, above = space.bounded_below.ravel() & (low > -_HUGE), space.bounded_above.ravel() & (high < _HUGE)
    return np.where(below, low, -np.inf).astype(np.float32), np.where(above, high, np.inf).astype(np.float32)


def resolve(text: str) -> Callable[[], AnyEnv] | None:
    """What makes the environment that a text names; None if it names none.

    A registered id (`Pendulum-v1`), an id with the module that registers it (`package:Id-v0`), or a class or function
    (`package.module:make`), for which the current directory is searched too.
    """
    module_name, colon, name = text.partition(":")
    if not colon:
        return _registered(text) if text in gymnasium.registry else None
    if not name or not all(part.isidentifier() for part in module_name.split(".")):
        return None
    module = _imported(module_name)
    if name in gymnasium.registry:
        return _registered(name)
    if not hasattr(module, name):
        raise Unsuitable(_no_such_name(module, name))
    make: Callable[[], AnyEnv] = getattr(module, name)
    if not callable(make):
        raise Unsuitable(f"{text} is a {type(make).__name__}. Name a class, or a function that makes an environment.")
    if missing := _missing_arguments(make):
        raise Unsuitable(
            f"{text} cannot be called without {', '.join(missing)}. Write a function without arguments that makes "
            f"the environment with them, and name that."
        )
    return make


def _registered(name: str) -> Callable[[], AnyEnv]:
    # The specification rather than the id: a process that has not imported what registers the id can use it too.
    return functools.partial(gymnasium.make, gymnasium.spec(name))


def _imported(name: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise Unsuitable(
            f"The module {name} does not import: {type(error).__name__}: {error}. Try python -c 'import {name}' from "
            f"this directory ({here})."
        ) from error


def _no_such_name(module: ModuleType, name: str) -> str:
    if name.isidentifier():
        known, words = [one for one in vars(module) if not one.startswith("_")], f"{module.__name__} has no {name}."
    else:
        known, words = list(gymnasium.registry), f"Importing {module.__name__} registers no environment {name}."
    near = difflib.get_close_matches(name, known)
    return f"{words} " + (f"Did you mean {' or '.join(near)}?" if near else "Look the name up in the module.")


def _missing_arguments(make: Callable[..., Any]) -> list[str]:
    try:
        parameters = signature(make).parameters.values()
    except (TypeError, ValueError):
        return []  # Not every callable tells.
    optional = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return [one.name for one in parameters if one.default is Parameter.empty and one.kind not in optional]


def _not_an_environment(made: Any) -> str:
    if isinstance(made, gymnasium.vector.VectorEnv):
        return "This makes many environments at once. Make a single one: it is repeated here, as often as you ask for."
    return (
        f"This makes a {type(made).__module__}.{type(made).__qualname__}, which is not a gymnasium.Env. Derive it from "
        f"gymnasium.Env; reset returns (observation, info), step (observation, reward, terminated, truncated, info)."
    )


def _faults_of_actions(env: AnyEnv) -> list[str]:
    space = getattr(env, "action_space", None)
    if isinstance(space, Box):
        return [] if np.prod(space.shape) else ["The action space is empty. Give it at least one number."]
    return [
        f"The actions are {space}; the policies here draw from a Box, such as gymnasium.spaces.Box(-1.0, 1.0, (2,)). "
        f"Let a gymnasium.ActionWrapper turn numbers into your actions, or choose another environment."
    ]


def _faults_of_observations(env: AnyEnv) -> list[str]:
    space = getattr(env, "observation_space", None)
    if isinstance(space, Box):
        return [] if np.prod(space.shape) else ["The observation space is empty. Give it at least one number."]
    return [
        f"The observations are {short(space)}; a Box is needed. Wrap the environment: "
        f"gymnasium.wrappers.FlattenObservation(env) turns Dict, Tuple and Discrete spaces into one."
    ]


def _remarks_of_actions(space: Any) -> list[str]:
    found = []
    if not np.isfinite(bounds(space)).all():
        found.append(
            "Some bounds of the action space are infinite: there, actions are passed on as the policy draws them, "
            "which is about -1 to 1 at first. Give finite bounds to have them scaled."
        )
    if np.issubdtype(space.dtype, np.integer):
        found.append("The actions are integers: what the policy draws is rounded.")
    return found


def _remarks_of_length(env: AnyEnv, tried: Trial) -> list[str]:
    layer: Any = env
    while isinstance(layer, gymnasium.Wrapper) and not isinstance(layer, gymnasium.wrappers.TimeLimit):
        layer = layer.env
    limited = isinstance(layer, gymnasium.wrappers.TimeLimit) or tried.truncated
    if limited or (env.spec is not None and env.spec.max_episode_steps is not None):
        return []
    return [
        "No time limit was found, so episodes may never end. Use gymnasium.make(..., max_episode_steps=1000), or "
        "gymnasium.wrappers.TimeLimit(env, 1000)."
    ]


def _cost_names(env: AnyEnv, m: int | None) -> tuple[tuple[str, ...], list[str]]:
    """The names of the constraints, and a remark if those of the environment are of no use."""
    if m is None:
        return ("cost",), []
    numbered = tuple(f"cost_{i}" for i in range(m))
    try:
        given = env.get_wrapper_attr("cost_names")
        names = tuple(given)
    except (AttributeError, TypeError):
        return numbered, []
    plain = all(isinstance(name, str) and re.fullmatch(r"\w[\w.+-]*", name) for name in names)
    if plain and len(names) == len(set(names)) == m:
        return names, []
    return numbered, [
        f"cost_names is {short(given)}, which does not name {m} costs by {m} different plain words. They are called "
        f"{', '.join(numbered)} instead."
    ]
