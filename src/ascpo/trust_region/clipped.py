"""The step of PPO: descent by Adam on a clipped loss, until the policy has left the trust region."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ascpo.ranges import Iterations, LearningRate
from ascpo.trust_region.settings import TrustRegion

if TYPE_CHECKING:
    from jaxtyping import PyTree

    from ascpo.trust_region.step import Problem, StepReport, Vector


@dataclass(frozen=True)
class ClippedStep:
    """Many steps of Adam on a clipped loss. It keeps no constraints: put a penalty into the loss."""

    learning_rate: LearningRate = 3e-4
    """Learning rate of Adam."""
    iterations: Iterations = 80
    """Largest number of steps of Adam in an epoch, each on all data of the epoch. The descent ends earlier if the
    divergence exceeds the radius of the trust region."""

    def init(self, theta: "Vector") -> "PyTree":
        from ascpo.trust_region.descent import start

        return start(self, theta)

    def take(self, problem: "Problem", region: TrustRegion, state: "PyTree") -> "tuple[Vector, PyTree, StepReport]":
        from ascpo.trust_region.descent import descend

        return descend(self, problem, region, state)
