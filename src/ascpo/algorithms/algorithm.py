"""What an algorithm is: a choice of parts. The training loop is the same for all."""

from dataclasses import dataclass, field
from functools import partial

from ascpo.algorithms.outline import Outline, outlined
from ascpo.choices import Head, LimitKind, Mechanism
from ascpo.experience.augmentation import Augmentation, NoAugmentation
from ascpo.experience.signals import Signal, excesses, expected_cost
from ascpo.networks.shield import Shield
from ascpo.surrogates.cvar import CVaR
from ascpo.surrogates.evidence import Constraint
from ascpo.surrogates.maximum import ViolationProbability
from ascpo.surrogates.penalty import Penalty
from ascpo.surrogates.target import Feedback, Target
from ascpo.surrogates.weights import RatioClip
from ascpo.trust_region.clipped import ClippedStep
from ascpo.trust_region.constrained import ConstrainedStep
from ascpo.trust_region.step import Step


@dataclass(frozen=True)
class CostCritics:
    """What is predicted of the costs."""

    signal: Signal
    per_constraint: int = 1
    """Signals for each constraint."""
    discount: float = 0.99
    gae_lambda: float = 0.97
    """λ of the generalised advantages."""
    bootstrap_on_timeout: bool = True
    """Whether the signal would go on after the time limit."""
    head: Head = "linear"


EPISODE_COST = CostCritics(expected_cost)
"""Critics of the discounted cost still to come."""
largest_cost = partial(CostCritics, discount=1.0, gae_lambda=0.95, bootstrap_on_timeout=False, head="softplus")
"""Critics of what is still to come of an episode's largest cost: final when the episode ends, however it does."""
EXCESS_COST = largest_cost(excesses)
"""Critics of by how much an episode's cost will be over ν: final, too."""


@dataclass(frozen=True)
class Algorithm:
    """One row of the table of algorithms."""

    name: str
    description: str
    """What it does about costs, for a person."""
    limits_on: LimitKind = "state"
    """What a limit bounds: the cost of every state, or the sum of an episode's costs."""
    quantity: str = ""
    """What is kept under the limit or paid for, for a person; empty where there is nothing."""
    augmentation: Augmentation = field(default_factory=NoAugmentation)
    """What the policy sees of its episode beside the observation."""
    cost_critics: CostCritics | None = None
    constraint: Constraint | None = None
    """What every step keeps."""
    target: Target | None = None
    """What every step is to achieve of the constraint."""
    penalty: Penalty | None = None
    """What the objective pays for costs."""
    step: Step = field(default_factory=ConstrainedStep)
    """How the policy moves."""
    clip: RatioClip | None = None
    """Clipping of the surrogates' ratios."""
    shield: Shield | None = None
    """What changes actions before they are taken."""
    cvar: CVaR | None = None
    """The tail of the episodes' costs that is watched."""

    def __post_init__(self) -> None:
        if (self.constraint is None) != (self.target is None):
            raise ValueError(f"{self.name}: a constraint and the target of its steps go together. Give both, or none.")
        if self.constraint is not None and isinstance(self.step, ClippedStep):
            raise ValueError(f"{self.name}: a clipped step keeps no constraint. Make it a penalty.")
        if (self.constraint or self.penalty) and self.cost_critics is None:
            raise ValueError(f"{self.name}: costs that are bounded or paid for need critics. Give cost_critics.")

    @property
    def outline(self) -> Outline:
        return outlined(self)

    @property
    def mechanism(self) -> Mechanism:
        if self.constraint is not None:
            return "constraint"
        if self.penalty is not None:
            return "penalty"
        return "none" if self.shield is None else "shield"

    @property
    def counts_violations(self) -> bool:
        """Whether learning goes by the share of episodes that violate a limit."""
        return isinstance(self.target, Feedback) or isinstance(self.constraint, ViolationProbability)
