"""ASCPO: an upper probability bound of an episode's largest cost stays under its limit (arXiv:2410.01212)."""

from dataclasses import dataclass, replace
from typing import Literal

from ascpo.algorithms.algorithm import Algorithm, of_largest_cost
from ascpo.experience.memory import MAXIMA
from ascpo.experience.signals import crossings, increments, moments
from ascpo.surrogates.evidence import Constraint
from ascpo.surrogates.maximum import cantelli_bound, chance, moment_bound, paper_bound, reference_bound
from ascpo.theory.cantelli import PAPER_K

Mode = Literal["reference", "paper", "moment", "cantelli", "chance"]


@dataclass(frozen=True)
class ASCPO:
    """Settings of ASCPO."""

    mode: Mode = "chance"
    """Which bound: `reference`, `paper`, `moment`, `cantelli` or `chance`. The formulas: docs/algorithms/ascpo.md."""
    k: float = PAPER_K
    """How much the spread of the largest cost counts (all modes but cantelli)."""
    omega1: float = 0.005
    """ω₁, the paper's ‖μ‖∞ (modes reference and paper)."""
    omega2: float = 0.007
    """ω₂, the paper's |K|max (modes reference and paper)."""

    def __post_init__(self) -> None:
        if self.k < 0:
            raise ValueError(f"k={self.k} must not be negative: it would reward a spread of costs.")

    def build(self, probability: float) -> Algorithm:
        signal = {"chance": crossings, "moment": moments, "cantelli": moments}.get(self.mode, increments)
        critics = of_largest_cost(signal, per_constraint=2 if signal is moments else 1)
        return Algorithm(
            name="ascpo",
            words=f"bounds {self._words(probability)}",
            quantity=self._quantity(probability),
            memory=MAXIMA,
            cost_critics=replace(critics, head="sigmoid") if self.mode == "chance" else critics,
            constraint=self._bound(probability),
        )

    def _bound(self, probability: float) -> Constraint:
        match self.mode:
            case "reference":
                return reference_bound(self.k, self.omega1, self.omega2)
            case "paper":
                return paper_bound(self.k, self.omega1, self.omega2)
            case "moment":
                return moment_bound(self.k)
            case "cantelli":
                return cantelli_bound(probability)
            case "chance":
                return chance(probability)

    def _words(self, probability: float) -> str:
        match self.mode:
            case "reference":
                bound = "the mean of an episode's largest cost, and a trace of its variance"
            case "paper":
                bound = f"mean + {self.k:g} · mean square of an episode's largest cost; k = {self.k:g}"
            case "moment":
                bound = f"mean + {self.k:g} · mean square of an episode's largest cost; k = {self.k:g}"
            case "cantelli":
                bound = f"what an episode's largest cost stays under with probability {probability:g}"
            case "chance":
                bound = f"the chance that an episode breaks a limit, at {1 - probability:g}"
        return f"{bound}; mode {self.mode}"

    def _quantity(self, probability: float) -> str:
        match self.mode:
            case "reference":
                return "the mean of an episode's largest cost"
            case "paper" | "moment":
                return f"mean + {self.k:g} · mean square of an episode's largest cost"
            case "cantelli":
                return f"the level that an episode's largest cost stays under with probability {probability:g}"
            case "chance":
                return "the probability that an episode violates a limit"
