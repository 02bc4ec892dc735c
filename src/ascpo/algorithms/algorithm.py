"""What an algorithm is: a choice of parts. The training loop is the same for all."""

from dataclasses import Field, dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal, Protocol

from ascpo.experience.memory import NOTHING, EpisodeMemory
from ascpo.experience.signals import Signal, excesses, expected_cost
from ascpo.networks.critics import Head
from ascpo.networks.shield import Shield
from ascpo.surrogates.evidence import Constraint
from ascpo.surrogates.penalty import Penalty
from ascpo.trust_region.descent import Descent
from ascpo.trust_region.projection import Projection


@dataclass(frozen=True)
class CostCritics:
    """What is predicted of the costs."""

    signal: Signal
    per_constraint: int = 1
    """Signals for each constraint."""
    discount: float = 0.99
    decay: float = 0.97
    """λ of the generalised advantages."""
    beyond_time_limit: bool = True
    """Whether the signal would go on after the time limit."""
    head: Head = "linear"


EPISODE_COST = CostCritics(expected_cost)
"""Of the discounted cost still to come."""
of_largest_cost = partial(CostCritics, discount=1.0, decay=0.95, beyond_time_limit=False, head="softplus")
"""Of what is still to come of an episode's largest cost: final when the episode ends, however it does."""
OF_TAIL = of_largest_cost(excesses)
"""Of by how much an episode's cost will be over ν: final, too."""


@dataclass(frozen=True)
class Clipped:
    """Epochs of descent on a clipped objective, instead of one step within a trust region."""

    clip: float = 0.2
    """ε: ratios beyond 1 ± ε promise nothing more."""
    clip_costs: bool = True
    """Clip what costs add to the loss too."""
    descent: Descent = field(default_factory=Descent)
    """How the policy descends."""

    def __post_init__(self) -> None:
        if self.clip <= 0:
            raise ValueError(f"clip={self.clip} must be above 0. Try 0.2.")


@dataclass(frozen=True)
class Tailed:
    """Keep the value at risk of the episodes' costs."""

    alpha: float
    memory: float = 0.7
    """How much of ν is kept from epoch to epoch."""


@dataclass(frozen=True)
class Algorithm:
    """One row of the table of algorithms."""

    name: str
    words: str
    """What it does about costs, for a person."""
    quantity: str = ""
    """What is kept under the limit or paid for, as a phrase; empty if the algorithm ignores costs."""
    memory: EpisodeMemory = NOTHING
    cost_critics: CostCritics | None = None
    constraint: Constraint | None = None
    """What every step keeps."""
    penalty: Penalty | None = None
    """What the objective pays for costs."""
    step: Projection | Clipped | None = None
    """None: within the trust region, by its dual."""
    shield: Shield | None = None
    tail: Tailed | None = None

    @property
    def mechanism(self) -> Literal["constraint", "penalty", "shield", "none"]:
        """How the algorithm treats costs."""
        if self.constraint is not None:
            return "constraint"
        if self.penalty is not None:
            return "penalty"
        return "none" if self.shield is None else "shield"


class Method(Protocol):
    """An algorithm's own settings: a frozen dataclass whose fields all have defaults."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def build(self, probability: float) -> Algorithm:
        """The algorithm that promises to keep all limits with this probability, as far as it promises anything."""
        ...
