"""Policies that keep every state of an episode within its cost limit, with high probability.

Importing the package makes its environments known to Gymnasium: `gymnasium.make("ascpo/Point-8-Hazard-v0")`.
"""

from ascpo.environments import GuardEnv, GuardVectorEnv, make, make_vec, register
from ascpo.guard.model import make_model
from ascpo.guard.suites import PAPER_SUITES, suite

register()

__all__ = ["PAPER_SUITES", "GuardEnv", "GuardVectorEnv", "make", "make_model", "make_vec", "suite"]
