"""PCPO: a natural step, then a projection onto the constraint (arXiv:2010.03152)."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ascpo.algorithms.outline import Outline
from ascpo.surrogates.settings import TargetSettings
from ascpo.trust_region.projected import ProjectedStep

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm


@dataclass(frozen=True)
class PCPO:
    """Settings of PCPO."""

    target: TargetSettings = field(default_factory=TargetSettings)
    """What every step aims at for the bound. PCPO has the kinds `feedback` and `own`."""
    projection: ProjectedStep = field(default_factory=ProjectedStep)
    """How the step is projected onto the constraint."""

    def __post_init__(self) -> None:
        if self.target.kind == "capped":
            raise ValueError(
                "target.kind=capped changes nothing for PCPO, which projects its steps. Use own or feedback."
            )

    def outline(self, probability: float) -> Outline:
        description, quantity = "bounds the mean cost of an episode, by projection", "the mean cost of an episode"
        outline = Outline("pcpo", description, "episode", quantity, critics="linear", step="projected")
        return outline.constrained(self.target)

    def build(self, probability: float) -> "Algorithm":
        from ascpo.algorithms.algorithm import EPISODE_COST, Algorithm
        from ascpo.surrogates.cost import ExpectedCost

        return Algorithm(
            *self.outline(probability).words,
            step=self.projection,
            cost_critics=EPISODE_COST,
            constraint=ExpectedCost(),
            target=self.target.build(probability),
        )
