"""TRPO-FAC: a price of costs for every state, learned by a network (arXiv:2105.10682)."""

from dataclasses import dataclass

from ascpo.algorithms.algorithm import EPISODE_COST, Algorithm
from ascpo.networks.multiplier import OfStates
from ascpo.surrogates.penalty import Penalty, lagrangian


@dataclass(frozen=True)
class TRPOFAC:
    """Settings of TRPO-FAC."""

    multiplier_rate: float = 1e-3
    """Learning rate of the network."""
    multiplier_steps: int = 10
    """Its steps of Adam an epoch. With one, at a rate of 0.0001, as published, it stays near its start."""

    def build(self, probability: float) -> Algorithm:
        return Algorithm(
            name="trpo-fac",
            words="pays for costs, at a price for every state that rises where they are over the limit",
            quantity="the mean cost of an episode, state by state",
            cost_critics=EPISODE_COST,
            penalty=Penalty(lagrangian(1.0), OfStates(self.multiplier_rate, self.multiplier_steps)),
        )
