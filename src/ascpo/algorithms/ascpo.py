"""ASCPO: an upper probability bound of an episode's largest cost stays under its limit (arXiv:2410.01212)."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Literal

from ascpo.algorithms.method import refuse_unused
from ascpo.algorithms.outline import Outline
from ascpo.ranges import NonNegative, Positive, Range
from ascpo.surrogates.settings import TargetSettings
from ascpo.theory.cantelli import PAPER_K

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm
    from ascpo.surrogates.evidence import Constraint

Mode = Literal["reference", "paper", "moment", "cantelli", "chance", "chernoff"]


@dataclass(frozen=True)
class ASCPO:
    """Settings of ASCPO."""

    mode: Mode = "chance"
    """The bound: `reference`, `paper`, `moment`, `cantelli`, `chance` or `chernoff`. docs/algorithms/ascpo.md has the
    formulas."""
    k: NonNegative = PAPER_K
    """Weight of the spread of the largest cost (modes reference, paper and moment)."""
    omega1: NonNegative = 0.005
    """ω₁, the paper's ‖μ‖∞ (modes reference and paper)."""
    omega2: NonNegative = 0.007
    """ω₂, the paper's |K|max (modes reference and paper)."""
    tau: Positive = 0.05
    """τ: the distance over which the weight of a near miss falls by a factor e (mode chernoff)."""
    cap: Annotated[float, Range(at_least=1.0, at_most=1e6)] = 2.0
    """The largest weight of a violation (mode chernoff)."""
    union_bound: bool = False
    """Sum the weights of an episode's states instead of taking that of its largest cost (mode chernoff). The bound is
    less tight, but its gradient is less noisy if many episodes violate a limit for long."""
    target: TargetSettings = field(default_factory=TargetSettings)
    """What every step aims at for the bound."""

    def __post_init__(self) -> None:
        if self.mode not in ("reference", "paper"):
            refuse_unused(self, f"mode {self.mode} does not use it", "omega1", "omega2")
        if self.mode in ("cantelli", "chance", "chernoff"):
            refuse_unused(self, f"mode {self.mode} does not use it", "k")
        if self.mode != "chernoff":
            refuse_unused(self, f"mode {self.mode} does not use it", "tau", "cap", "union_bound")

    def outline(self, probability: float) -> Outline:
        quantity, limit = self._quantity(probability), f", at {1 - probability:g}" if self._of_probability else ""
        return Outline(
            "ascpo",
            f"bounds {quantity}{limit}; mode {self.mode}",
            quantity=quantity,
            critics="sigmoid" if self._of_probability and not self._beyond_one else "softplus",
            counts_violations=self.mode == "chance",
        ).constrained(self.target)

    @property
    def _of_probability(self) -> bool:
        return self.mode in ("chance", "chernoff")

    @property
    def _beyond_one(self) -> bool:
        """Whether the future sum of the signal can exceed 1."""
        return self.mode == "chernoff" and (self.union_bound or self.cap > 1.0)

    def build(self, probability: float) -> "Algorithm":
        from ascpo.algorithms.algorithm import EPISODE_COST, Algorithm, largest_cost
        from ascpo.experience.augmentation import RunningMaximum
        from ascpo.experience.signals import ChernoffWeights, UnionBound, crossings, increments, moments

        signals = {"chance": crossings, "moment": moments, "cantelli": moments}
        signal = ChernoffWeights(self.tau, self.cap) if self.mode == "chernoff" else signals.get(self.mode, increments)
        critics = largest_cost(signal, per_constraint=2 if signal is moments else 1)
        if isinstance(signal, ChernoffWeights) and self.union_bound:
            critics = replace(EPISODE_COST, signal=UnionBound(signal))
        outline = self.outline(probability)
        return Algorithm(
            *outline.words,
            augmentation=RunningMaximum(),
            cost_critics=replace(critics, head=outline.critics or critics.head),
            constraint=self._bound(probability),
            target=self.target.build(probability),
        )

    def _quantity(self, probability: float) -> str:
        """A phrase for the bounded quantity."""
        match self.mode:
            case "reference":
                return "the mean of an episode's largest cost, and a trace of its variance"
            case "paper" | "moment":
                return f"mean + {self.k:g} · mean square of an episode's largest cost"
            case "cantelli":
                return f"what an episode's largest cost stays under with probability {probability:g}"
            case "chance":
                return "the probability that an episode violates a limit"
            case "chernoff":
                kind = "a union bound, after Chernoff's," if self.union_bound else "a Chernoff bound"
                return f"{kind} of the probability that an episode violates a limit"

    def _bound(self, probability: float) -> "Constraint":
        from ascpo.surrogates import maximum

        match self.mode:
            case "reference":
                return maximum.ReferenceBound(self.k, self.omega1, self.omega2)
            case "paper":
                return maximum.PaperBound(self.k, self.omega1, self.omega2)
            case "moment":
                return maximum.MomentBound(self.k)
            case "cantelli":
                return maximum.CantelliBound(probability)
            case "chance":
                return maximum.ViolationProbability(probability)
            case "chernoff":
                return maximum.ChernoffBound(probability)
