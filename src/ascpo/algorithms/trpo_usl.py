"""TRPO-USL: actions go down the gradient of the cost still to come (arXiv:2212.08329)."""

from dataclasses import dataclass
from typing import Literal

from ascpo.algorithms.algorithm import Algorithm
from ascpo.networks.shield import UnrollingSafetyLayer


@dataclass(frozen=True)
class TRPOUSL:
    """Settings of TRPO-USL."""

    preset: Literal["working", "reference"] = "working"
    """`reference`: a threshold of 0, which no prediction is ever under, so that every action is changed."""
    threshold: float = 0.2
    """Actions whose cost still to come is over the limit by more than this are changed."""
    correction_steps: int = 20
    """Most steps of a correction."""
    correction_size: float = 0.05
    """Of each."""
    warm_up: float = 1.0 / 3.0
    """The part of the training in which the layer only learns."""

    def build(self, probability: float) -> Algorithm:
        threshold = 0.0 if self.preset == "reference" else self.threshold
        return Algorithm(
            name="trpo-usl",
            words="changes actions whose cost still to come is expected over the limit",
            quantity="the predicted cost still to come",
            shield=UnrollingSafetyLayer(threshold, self.correction_steps, self.correction_size, warm_up=self.warm_up),
        )
