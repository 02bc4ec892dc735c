"""Policies that keep every state of an episode within its cost limit, with high probability.

Importing the package registers its environments with Gymnasium: `gymnasium.make("ascpo/Point-8-Hazard-v0")`. The rest
is imported when it is first used, so that the command line answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ascpo.environments.registration import register

if TYPE_CHECKING:
    from ascpo import callbacks
    from ascpo.api.certification import certify
    from ascpo.api.comparison import compare
    from ascpo.api.evaluation import evaluate
    from ascpo.engines.functional.world import Transition, World
    from ascpo.environments.playground import PlaygroundWorld
    from ascpo.environments.registration import make, make_vec
    from ascpo.environments.single import GuardEnv
    from ascpo.environments.vector import GuardVectorEnv
    from ascpo.guard.model import make_model
    from ascpo.guard.suites import PAPER_SUITES, suite
    from ascpo.report.written import report
    from ascpo.runs.api import resume, train, train_many, train_together
    from ascpo.runs.config import configure
    from ascpo.runs.trained_policy import load

_CONTENT = {
    "ascpo.api.certification": ("certify",),
    "ascpo.api.comparison": ("compare",),
    "ascpo.api.evaluation": ("evaluate",),
    "ascpo.engines.functional.world": ("Transition", "World"),
    "ascpo.environments.playground": ("PlaygroundWorld",),
    "ascpo.environments.registration": ("make", "make_vec"),
    "ascpo.environments.single": ("GuardEnv",),
    "ascpo.environments.vector": ("GuardVectorEnv",),
    "ascpo.guard.model": ("make_model",),
    "ascpo.guard.suites": ("PAPER_SUITES", "suite"),
    "ascpo.runs.api": ("resume", "train", "train_many", "train_together"),
    "ascpo.runs.config": ("configure",),
    "ascpo.runs.trained_policy": ("load",),
}

_MODULES = ("callbacks", "report")
"""Modules that are used as attributes. A report is written by calling its package."""

register()

__all__ = [
    "PAPER_SUITES",
    "GuardEnv",
    "GuardVectorEnv",
    "PlaygroundWorld",
    "Transition",
    "World",
    "callbacks",
    "certify",
    "compare",
    "configure",
    "evaluate",
    "load",
    "make",
    "make_model",
    "make_vec",
    "report",
    "resume",
    "suite",
    "train",
    "train_many",
    "train_together",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"ascpo.{name}")
    for module, names in _CONTENT.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'ascpo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
