"""The step of PCPO: the natural step, then a projection onto the constraints (arXiv:2010.03152)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ascpo.trust_region.settings import TrustRegion

if TYPE_CHECKING:
    from jaxtyping import PyTree

    from ascpo.trust_region.step import Problem, StepReport, Vector


@dataclass(frozen=True)
class ProjectedStep:
    """The natural step, projected onto the constraints."""

    nearest: Literal["divergence", "parameters"] = "divergence"
    """The distance that the projection minimises: the divergence, or the distance of the policy's parameters."""
    within_region: bool = True
    """Shorten the projected step until it is within the trust region."""

    def init(self, theta: "Vector") -> "PyTree":
        return None

    def take(self, problem: "Problem", region: TrustRegion, state: "PyTree") -> "tuple[Vector, PyTree, StepReport]":
        from ascpo.trust_region.projection import projected_step

        return projected_step(self, problem, region, state)
