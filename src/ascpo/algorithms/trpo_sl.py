"""TRPO-SL: a safety layer puts every action where a linear model expects no cost (arXiv:1801.08757)."""

from dataclasses import dataclass

from ascpo.algorithms.algorithm import Algorithm
from ascpo.experience.memory import LAST
from ascpo.networks.shield import SafetyLayer


@dataclass(frozen=True)
class TRPOSL:
    """Settings of TRPO-SL."""

    warm_up: float = 1.0 / 3.0
    """The part of the training in which the layer only learns."""

    def build(self, probability: float) -> Algorithm:
        return Algorithm(
            name="trpo-sl",
            words="changes actions whose next cost a linear model expects over the limit",
            quantity="the predicted cost of the next state",
            memory=LAST,
            shield=SafetyLayer(self.warm_up),
        )
