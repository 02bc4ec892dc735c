"""An algorithm is a choice of parts. The training loop is the same for all."""

from dataclasses import dataclass, field
from functools import partial

from ascpo.algorithms.outline import Outline, outline_of_parts
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
    """The cost critics: what they predict, and how."""

    signal: Signal
    per_constraint: int = 1
    """Signals for each constraint."""
    discount: float = 0.99
    gae_lambda: float = 0.97
    """λ of the generalised advantages."""
    bootstrap_on_timeout: bool = True
    """Whether the signal would continue after the time limit."""
    head: Head = "linear"


EPISODE_COST = CostCritics(expected_cost)
"""Critics of the discounted future cost."""
largest_cost = partial(CostCritics, discount=1.0, gae_lambda=0.95, bootstrap_on_timeout=False, head="softplus")
"""Critics of the future increase of an episode's largest cost. It is final when the episode ends, also by a
time-out."""
EXCESS_COST = largest_cost(excesses)
"""Critics of the future increase of (Z − ν)₊, which is final when the episode ends, too."""


@dataclass(frozen=True)
class Algorithm:
    """One row of the table of algorithms."""

    name: str
    description: str
    """What the algorithm does about costs, as a phrase for logs and reports."""
    limits_on: LimitKind = "state"
    """What a limit bounds: the cost of every state, or the sum of an episode's costs."""
    quantity: str = ""
    """The quantity that is constrained or penalised, as a phrase for logs and reports. Empty if there is none."""
    augmentation: Augmentation = field(default_factory=NoAugmentation)
    """What the policy observes of its episode in addition to the environment's observation."""
    cost_critics: CostCritics | None = None
    constraint: Constraint | None = None
    """The constraint on every step."""
    target: Target | None = None
    """What every step aims at for the constraint."""
    penalty: Penalty | None = None
    """The penalty for costs in the loss."""
    step: Step = field(default_factory=ConstrainedStep)
    """The step rule of the policy."""
    clip: RatioClip | None = None
    """Clipping of the probability ratios in the surrogates."""
    shield: Shield | None = None
    """The shield, which changes actions before they are taken."""
    cvar: CVaR | None = None
    """The tail of the episodes' costs whose value at risk is tracked."""

    def __post_init__(self) -> None:
        if (self.constraint is None) != (self.target is None):
            raise ValueError(f"{self.name}: a constraint and a target belong together. Give both, or none.")
        if self.constraint is not None and isinstance(self.step, ClippedStep):
            raise ValueError(f"{self.name}: a clipped step keeps no constraint. Make it a penalty.")
        if (self.constraint or self.penalty) and self.cost_critics is None:
            raise ValueError(f"{self.name}: costs that are constrained or penalised need critics. Give cost_critics.")

    @property
    def outline(self) -> Outline:
        return outline_of_parts(self)

    @property
    def mechanism(self) -> Mechanism:
        if self.constraint is not None:
            return "constraint"
        if self.penalty is not None:
            return "penalty"
        return "none" if self.shield is None else "shield"

    @property
    def counts_violations(self) -> bool:
        """Whether learning uses the share of episodes that violate a limit."""
        return isinstance(self.target, Feedback) or isinstance(self.constraint, ViolationProbability)
