"""TRPO-USL: actions go down the gradient of the cost still to come (arXiv:2212.08329)."""

from dataclasses import dataclass
from typing import Literal

from ascpo.algorithms.algorithm import FIXED_BY_PRESET, Algorithm, refuse_unused
from ascpo.networks.shield import UnrollingSafetyLayer


@dataclass(frozen=True)
class TRPOUSL:
    """Settings of TRPO-USL."""

    preset: Literal["working", "reference"] = "working"
    """`reference` has a threshold of 0, which no prediction is ever under, so that every action is changed."""
    threshold: float = 0.2
    """Actions whose cost still to come is over the limit by more than this are changed."""
    correction_steps: int = 20
    """Largest number of steps of a correction."""
    correction_size: float = 0.05
    """Size of each step of a correction."""
    warm_up: float = 1.0 / 3.0
    """Part of the training in which the layer only learns."""

    def __post_init__(self) -> None:
        if self.preset == "reference":
            refuse_unused(self, FIXED_BY_PRESET, "threshold")

    def build(self, probability: float) -> Algorithm:
        threshold = 0.0 if self.preset == "reference" else self.threshold
        return Algorithm(
            name="trpo-usl",
            description="changes actions whose cost still to come is expected over the limit",
            quantity="the cost still to come that a critic expects",
            shield=UnrollingSafetyLayer(threshold, self.correction_steps, self.correction_size, warm_up=self.warm_up),
        )
