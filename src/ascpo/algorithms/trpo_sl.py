"""TRPO-SL: a safety layer puts every action where a linear model expects no cost (arXiv:1801.08757)."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ascpo.algorithms.outline import Outline
from ascpo.networks.settings import FitSettings
from ascpo.ranges import Fraction

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm


@dataclass(frozen=True)
class TRPOSL:
    """Settings of TRPO-SL."""

    warm_up: Fraction = 1.0 / 3.0
    """Part of the training in which the layer learns but does not change actions."""
    shield_fit: FitSettings = field(default_factory=FitSettings)
    """How the layer's model is fitted. Its minibatches have as many steps without cost as with it."""

    def outline(self, probability: float) -> Outline:
        words = ("trpo-sl", "changes actions whose next cost a linear model expects over the limit")
        return Outline(*words, quantity="the next cost that a linear model expects", mechanism="shield")

    def build(self, probability: float) -> "Algorithm":
        from ascpo.algorithms.algorithm import Algorithm
        from ascpo.experience.augmentation import LastCost
        from ascpo.networks.shield import SafetyLayer, balanced

        return Algorithm(
            *self.outline(probability).words,
            augmentation=LastCost(),
            shield=SafetyLayer(self.warm_up, balanced(self.shield_fit)),
        )
