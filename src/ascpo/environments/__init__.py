"""The world as Gymnasium environments: one, many at once, and their pictures."""

from ascpo.environments.registration import make, make_vec, register
from ascpo.environments.single import GuardEnv
from ascpo.environments.vector import GuardVectorEnv

__all__ = ["GuardEnv", "GuardVectorEnv", "make", "make_vec", "register"]
