"""Settings that every algorithm shares, as frozen data."""

from dataclasses import dataclass, field
from typing import Any

from ascpo.networks.fitting import RARE, Fit
from ascpo.training.ask import Ask
from ascpo.trust_region.step import TrustRegion


@dataclass(frozen=True)
class Settings:
    """What a training is made of, beside its environment and its algorithm."""

    num_envs: int = 30
    """Environments side by side."""
    horizon: int = 1000
    """Steps of each of them in an epoch."""
    carry: bool = True
    """Let episodes go on from one epoch to the next. Otherwise an epoch's end cuts them."""
    limits: tuple[float, ...] = (0.0,)
    """The largest cost allowed, for each constraint; a single one holds for all."""
    probability: float = 0.98
    """The promise: with which every state of an episode shall stay within its limits."""
    margin: float = 0.0
    """Aim below the limits by this much."""
    discount: float = 0.99
    """γ of the reward."""
    decay: float = 0.97
    """λ of the reward's generalised advantages."""
    hidden: tuple[int, ...] = (64, 64)
    """Layers of every network."""
    initial_log_std: float = -0.5
    """Logarithm of the policy's first standard deviation."""
    value_fit: Fit = field(default_factory=Fit)
    """How the reward's critic is fitted."""
    cost_fit: Fit = RARE
    """How the cost critics are fitted."""
    cost_decay: float | None = None
    """λ of the costs' generalised advantages. None: 0.95 for what an episode's largest cost is made of, 0.97 else."""
    output_bias: float | None = -4.0
    """Starts the predictions of cost critics that are never negative near zero, where the truth is."""
    trust_region: TrustRegion = field(default_factory=TrustRegion)
    """The step's size and how it is solved for."""
    ask: Ask = field(default_factory=Ask)
    """How much of a step the constraints get."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "num_envs", "horizon")
        if not 0.0 < self.probability < 1.0:
            raise ValueError(f"probability={self.probability} must lie between 0 and 1. Try 0.98.")
        if not self.hidden or min(self.hidden) < 1:
            raise ValueError(f"hidden={self.hidden}: give each layer a size of at least 1. Try 64 64.")
        if len(set(self.hidden)) > 1:
            raise ValueError(f"hidden={self.hidden}: layers of different width are not possible. Try 64 64.")
        if not 0.0 < self.discount <= 1.0 or not 0.0 <= self.decay <= 1.0:
            raise ValueError(f"discount={self.discount} and decay={self.decay} must lie between 0 and 1.")

    def limits_for(self, names: tuple[str, ...]) -> tuple[float, ...]:
        """One limit for each constraint."""
        if len(self.limits) not in {1, len(names)}:
            raise ValueError(
                f"{len(self.limits)} limits for {len(names)} constraints ({', '.join(names)}). "
                f"Give one for each, in this order, or a single one for all."
            )
        return self.limits * len(names) if len(self.limits) == 1 else self.limits


def _at_least(settings: Any, least: int, *names: str) -> None:
    for name in names:
        if getattr(settings, name) < least:
            raise ValueError(f"{name}={getattr(settings, name)}: ask for at least {least}.")
