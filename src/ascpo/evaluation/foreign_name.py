"""The name of a foreign policy, and mistakes in it. Neither JAX nor the library of the policy is imported here, so that
a mistake is answered at once.
"""

import json
import zipfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ascpo.choices import EvaluatedActions
from ascpo.engines.gymnasium.naming import imported
from ascpo.errors import BadSetting, InertSetting
from ascpo.runs.environment_name import Environment, name_of
from ascpo.runs.files import NoRun
from ascpo.runs.places import is_foreign

PolicyFunction: TypeAlias = Callable[[np.ndarray], ArrayLike]
"""One observation, flat → one action, in the environment's units."""
_LIBRARIES = {"sb3": ("stable_baselines3", "stable-baselines3"), "onnx": ("onnxruntime", "onnxruntime")}
"""Kind of a policy → the module that reads it, and its package."""


def refuse_mistakes(
    names: Sequence[str], env: Environment | None, *, trust_env: bool, actions: EvaluatedActions | None
) -> None:
    """Refuse names that lead to no policy or no environment, and options that do not fit."""
    refuse_options(names[0], env, trust_env=trust_env, actions=actions)
    if env is not None:
        name_of(env)
    for name in names:
        _refuse_missing(name)


def _refuse_missing(name: str) -> None:
    """Refuse a name that leads to no policy, or to one whose library is not installed."""
    kind, rest = kind_and_rest(name)
    if kind == "python":
        foreign_function(rest)
        return
    path = foreign_file(rest)
    if kind == "sb3":
        sb3_classes(path)
    library(kind)


def refuse_options(name: str, env: object, *, trust_env: bool, actions: EvaluatedActions | None) -> None:
    """Refuse options that a foreign policy cannot have, and a call without the environment that it needs."""
    if env is None:
        raise BadSetting(
            f"{name} does not say its environment. Name it: --env Point-8-Hazard (in Python: "
            f'env="Point-8-Hazard", or the function that makes yours).'
        )
    if trust_env:
        raise InertSetting("trust_env", trust_env, "no file names the environment of a foreign policy")
    if actions not in (None, "mean"):
        raise InertSetting("actions", actions, "foreign policies take the actions that they return")


def kind_and_rest(name: str) -> tuple[str, str]:
    """`sb3:ppo.zip` → sb3, ppo.zip."""
    if not is_foreign(name):
        raise BadSetting(f"{name} is a run. Runs and policies of other libraries cannot be certified with one command.")
    kind, _, rest = name.partition(":")
    return kind, rest


def foreign_file(text: str) -> Path:
    """The file of a policy."""
    path = Path(text)
    if not path.is_file():
        raise NoRun(f"{path} does not exist, or is no file.")
    return path


def foreign_function(text: str) -> PolicyFunction:
    """The function of this name, MODULE:FUNCTION. Its module is imported."""
    module, _, called = text.partition(":")
    function: PolicyFunction | None = getattr(imported(module), called, None) if module and called else None
    if not callable(function):
        raise BadSetting(
            f"python:{text} is no function. Write python:MODULE:FUNCTION, of one observation, for one action."
        )
    return function


def sb3_classes(path: Path) -> tuple[str, ...]:
    """The classes of Stable-Baselines3 that may have written a file."""
    try:
        with zipfile.ZipFile(path) as file:
            kind = str(json.loads(file.read("data"))["policy_class"].get("__module__", ""))
    except (OSError, KeyError, ValueError, AttributeError, zipfile.BadZipFile) as error:
        raise BadSetting(f"{path} is no file of Stable-Baselines3: {type(error).__name__}: {error}") from error
    by_module = {"sac": ("SAC",), "td3": ("TD3", "DDPG")}
    return next((found for word, found in by_module.items() if f".{word}." in kind), ("PPO", "A2C"))


def library(kind: str) -> str:
    """The name of the module that reads a kind of policy."""
    module, package = _LIBRARIES[kind]
    if find_spec(module) is None:
        raise BadSetting(f"This policy needs the package {package}: pip install {package}")
    return module
