"""PASCPO: ASCPO's bound as a price in a clipped objective, which rises while the bound is over the limit."""

from dataclasses import dataclass, field
from typing import Literal

from ascpo.algorithms.algorithm import Algorithm, Clipped, of_largest_cost
from ascpo.experience.memory import MAXIMA
from ascpo.experience.signals import increments
from ascpo.networks.multiplier import Scalar
from ascpo.surrogates.maximum import paper_bound, reference_bound
from ascpo.surrogates.penalty import Penalty, bounded, episode_cost
from ascpo.theory.cantelli import PAPER_K


@dataclass(frozen=True)
class PASCPO:
    """Settings of PASCPO."""

    preset: Literal["working", "reference"] = "working"
    """`reference`: the released code's bound, strength 0.05, and a multiplier that climbs on the mean cost."""
    k: float = PAPER_K
    """How much the spread of the largest cost counts."""
    omega1: float = 0.005
    """ω₁, the paper's ‖μ‖∞."""
    omega2: float = 0.007
    """ω₂, the paper's |K|max."""
    multiplier_rate: float = 3.0
    """By how much the multiplier rises an epoch, for each unit that the bound is over the limit."""
    ppo: Clipped = field(default_factory=Clipped)
    """The clipped objective, and how the policy descends on it."""

    def build(self, probability: float) -> Algorithm:
        reference = self.preset == "reference"
        bound = (reference_bound if reference else paper_bound)(self.k, self.omega1, self.omega2)
        price = bounded(bound, 0.05 if reference else 1.0)
        violation = episode_cost if reference else bound.offset
        return Algorithm(
            name="pascpo",
            words=f"pays for a bound of an episode's largest cost, at a price that rises; clipped; k = {self.k:g}",
            quantity="an upper bound of an episode's largest cost",
            memory=MAXIMA,
            cost_critics=of_largest_cost(increments),
            penalty=Penalty(
                price, Scalar(0.005 if reference else self.multiplier_rate), violation, rescaled=not reference
            ),
            step=self.ppo,
        )
