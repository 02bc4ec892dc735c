"""TRPO: the natural step, whatever it costs (arXiv:1502.05477)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ascpo.algorithms.outline import Outline

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm


@dataclass(frozen=True)
class TRPO:
    """Settings of TRPO: it has none of its own."""

    def outline(self, probability: float) -> Outline:
        return Outline("trpo", "does nothing about costs")

    def build(self, probability: float) -> "Algorithm":
        from ascpo.algorithms.algorithm import Algorithm

        return Algorithm(*self.outline(probability).words)
