"""TRPO-FAC: a penalty for costs with a multiplier for every state, learned by a network (arXiv:2105.10682)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ascpo.algorithms.outline import Outline
from ascpo.ranges import Iterations, LearningRate

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm


@dataclass(frozen=True)
class TRPOFAC:
    """Settings of TRPO-FAC."""

    multiplier_rate: LearningRate = 1e-3
    """Learning rate of the multiplier's network."""
    multiplier_steps: Iterations = 10
    """Steps of Adam in an epoch. With the published 1 step at a rate of 0.0001, the network stays near its start."""

    def outline(self, probability: float) -> Outline:
        words = (
            "trpo-fac",
            "penalises costs, with a multiplier for every state that rises where they are over the limit",
        )
        return Outline(*words, "episode", "costs, state by state", "penalty", critics="linear")

    def build(self, probability: float) -> "Algorithm":
        from ascpo.algorithms.algorithm import EPISODE_COST, Algorithm
        from ascpo.networks.multiplier import StateMultiplier
        from ascpo.surrogates.penalty import Lagrangian, Penalty

        return Algorithm(
            *self.outline(probability).words,
            cost_critics=EPISODE_COST,
            penalty=Penalty(Lagrangian(), StateMultiplier(self.multiplier_rate, self.multiplier_steps)),
        )
