"""The outline of an algorithm: its description, and which settings it uses. It is known without importing JAX."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ascpo.choices import Head, LimitKind, Mechanism, StepKind
from ascpo.surrogates.settings import TargetSettings

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm
    from ascpo.algorithms.method import Method


@dataclass(frozen=True)
class Outline:
    """The description of an algorithm, and the properties of its parts that decide whether a setting has an effect."""

    name: str
    description: str
    limits_on: LimitKind = "state"
    quantity: str = ""
    mechanism: Mechanism = "none"
    critics: Head | None = None
    """The output function of the cost critics. None without cost critics."""
    step: StepKind = "constrained"
    cvar: bool = False
    """Whether it watches a tail of the episodes' costs."""
    counts_violations: bool = False
    """Whether learning uses the share of episodes that violate a limit."""
    half_signal: float = 0.0
    """`half_signal` of a feedback target."""
    also_penalises: bool = False
    """Whether it has a penalty of costs in addition to its constraint."""

    @property
    def words(self) -> tuple[str, str, LimitKind, str]:
        """The first fields of an `Algorithm`."""
        return self.name, self.description, self.limits_on, self.quantity

    def constrained(self, target: TargetSettings) -> "Outline":
        """The same with a constraint and its target."""
        counts = self.counts_violations or target.kind == "feedback"
        return replace(self, mechanism="constraint", counts_violations=counts, half_signal=target.half_signal)


def outline_of(method: "Method", probability: float) -> Outline:
    """The outline that an algorithm states, or that of its parts, which imports JAX."""
    stated = getattr(method, "outline", None)
    return method.build(probability).outline if stated is None else stated(probability)


def outline_of_parts(algorithm: "Algorithm") -> Outline:
    """The outline that follows from an algorithm's parts."""
    from ascpo.surrogates.target import Feedback
    from ascpo.trust_region.clipped import ClippedStep
    from ascpo.trust_region.projected import ProjectedStep

    kinds: dict[type, StepKind] = {ClippedStep: "clipped", ProjectedStep: "projected"}
    return Outline(
        name=algorithm.name,
        description=algorithm.description,
        limits_on=algorithm.limits_on,
        quantity=algorithm.quantity,
        mechanism=algorithm.mechanism,
        critics=algorithm.cost_critics.head if algorithm.cost_critics else None,
        step=kinds.get(type(algorithm.step), "constrained"),
        cvar=algorithm.cvar is not None,
        counts_violations=algorithm.counts_violations,
        half_signal=algorithm.target.half_signal if isinstance(algorithm.target, Feedback) else 0.0,
        also_penalises=algorithm.constraint is not None and algorithm.penalty is not None,
    )
