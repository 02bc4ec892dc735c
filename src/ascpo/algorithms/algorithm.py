"""What an algorithm is: a choice of parts. The training loop is the same for all."""

from dataclasses import Field, dataclass
from typing import Any, ClassVar, Protocol

from ascpo.experience.memory import NOTHING, EpisodeMemory
from ascpo.experience.signals import Signal
from ascpo.networks.critics import Head
from ascpo.networks.fitting import RARE, Fit
from ascpo.surrogates.evidence import Constraint


@dataclass(frozen=True)
class CostCritics:
    """What is predicted of the costs, and how."""

    signal: Signal
    per_constraint: int = 1
    """Signals for each constraint."""
    discount: float = 0.99
    decay: float = 0.97
    """λ of the generalised advantages."""
    beyond_time_limit: bool = True
    """Whether the signal would go on after the time limit."""
    head: Head = "linear"
    output_bias: float | None = None
    fit: Fit = RARE


@dataclass(frozen=True)
class Algorithm:
    """One row of the table of algorithms."""

    name: str
    words: str
    """What it bounds, for a person."""
    memory: EpisodeMemory = NOTHING
    cost_critics: CostCritics | None = None
    constraint: Constraint | None = None


class Method(Protocol):
    """An algorithm's own settings: a frozen dataclass whose fields all have defaults."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def build(self, probability: float) -> Algorithm:
        """The algorithm that promises to keep all limits with this probability, as far as it promises anything."""
        ...
