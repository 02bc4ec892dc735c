"""Policies that keep every state of an episode within its cost limit, with high probability.

Importing the package makes its environments known to Gymnasium: `gymnasium.make("ascpo/Point-8-Hazard-v0")`. The rest
is imported when it is first used, so that the command line answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ascpo.environments.registration import register

if TYPE_CHECKING:
    from ascpo.environments.registration import make, make_vec
    from ascpo.environments.single import GuardEnv
    from ascpo.environments.vector import GuardVectorEnv
    from ascpo.guard.model import make_model
    from ascpo.guard.suites import PAPER_SUITES, suite
    from ascpo.runs.api import resume, train, train_many, train_together
    from ascpo.runs.trained_policy import load

_HOMES = {
    "GuardEnv": "ascpo.environments.single",
    "GuardVectorEnv": "ascpo.environments.vector",
    "PAPER_SUITES": "ascpo.guard.suites",
    "load": "ascpo.runs.trained_policy",
    "make": "ascpo.environments.registration",
    "make_model": "ascpo.guard.model",
    "make_vec": "ascpo.environments.registration",
    "resume": "ascpo.runs.api",
    "suite": "ascpo.guard.suites",
    "train": "ascpo.runs.api",
    "train_many": "ascpo.runs.api",
    "train_together": "ascpo.runs.api",
}

register()

__all__ = [
    "PAPER_SUITES",
    "GuardEnv",
    "GuardVectorEnv",
    "load",
    "make",
    "make_model",
    "make_vec",
    "resume",
    "suite",
    "train",
    "train_many",
    "train_together",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'ascpo' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
