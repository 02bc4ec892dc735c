"""TRPO-USL: actions go down the gradient of the cost still to come (arXiv:2212.08329)."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from ascpo.algorithms.outline import Outline
from ascpo.networks.settings import FitSettings
from ascpo.ranges import Fraction, Positive, Range

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm


@dataclass(frozen=True)
class TRPOUSL:
    """Settings of TRPO-USL."""

    threshold: float = 0.2
    """Actions whose cost still to come is over the limit by more than this are changed. With 0 and a limit of 0 every
    action is changed, because the predicted cost is always above 0."""
    correction_steps: Annotated[int, Range(at_least=1, at_most=10**4)] = 20
    """Largest number of steps of a correction."""
    correction_size: Positive = 0.05
    """Size of each step of a correction."""
    warm_up: Fraction = 1.0 / 3.0
    """Part of the training in which the layer only learns."""
    shield_fit: FitSettings = field(default_factory=FitSettings)
    """How the layer's critic is fitted."""

    def outline(self, probability: float) -> Outline:
        words = ("trpo-usl", "changes actions whose cost still to come is expected over the limit")
        return Outline(*words, quantity="the cost still to come that a critic expects", mechanism="shield")

    def build(self, probability: float) -> "Algorithm":
        from ascpo.algorithms.algorithm import Algorithm
        from ascpo.networks.shield import UnrollingSafetyLayer

        shield = UnrollingSafetyLayer(
            self.threshold, self.correction_steps, self.correction_size, warm_up=self.warm_up, fit=self.shield_fit
        )
        return Algorithm(
            *self.outline(probability).words,
            shield=shield,
        )
