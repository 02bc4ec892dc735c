"""Settings that every algorithm shares, as frozen data."""

from dataclasses import dataclass, field
from typing import Any

from ascpo.networks.fitting import Fit
from ascpo.trust_region.step import TrustRegion


@dataclass(frozen=True)
class Ask:
    """How much of a step the constraints may ask for.

    A limit of zero is never quite met. Were all of it asked for at once, steps would leave the reward alone until the
    robot learns to stand still. So constraints get at most a share of the trust region's radius; the reward gets the
    rest.
    """

    share: float = 0.95
    """The largest share of the radius, 1 for all of it; over 1, asks are not bounded."""
    first: float = 0.8
    """The share in the first epoch."""
    rise: int = 60
    """Epochs over which the share rises from first to last."""
    probability: float | None = None
    """Ask in full while more than twice 1 − probability of the episodes violate a limit, and for nothing once no more
    than 1 − probability do. None asks for as long as the constraint is violated."""
    memory: float = 0.7
    """How much of the measured share of violating episodes is kept from epoch to epoch."""


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
    trust_region: TrustRegion = field(default_factory=TrustRegion)
    ask: Ask = field(default_factory=Ask)

    def __post_init__(self) -> None:
        _at_least(self, 1, "num_envs", "horizon")
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
