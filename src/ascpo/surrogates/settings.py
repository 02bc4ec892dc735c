"""Settings of the targets. This module does not import JAX."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from ascpo.errors import BadSetting, InertSetting
from ascpo.ranges import Fraction, NonNegative, Positive, Range

if TYPE_CHECKING:
    from ascpo.surrogates.target import Target

SMOOTHING = 0.7
"""Default weight of earlier epochs in the episode statistics."""
_OF_RADIUS = ("share", "timeout_relief", "timeout_share", "timeout_limit", "smoothing")
"""Settings of the share of the trust region that the constraints get."""
_OF_FEEDBACK = ("gain", "episodes", "half_signal")
"""Settings of the controller."""


def worst_episodes(alpha: float) -> str:
    """What CVaR is about, in words."""
    return f"the mean cost of the worst {100 * (1 - alpha):g} % of the episodes"


@dataclass(frozen=True)
class TargetSettings:
    """What every step of a constrained algorithm aims at."""

    kind: Literal["feedback", "capped", "own"] = "feedback"
    """`feedback` controls the measured share of violations. `capped` aims at the algorithm's own bound within a share
    of the trust region, and `own` at that bound with the whole region."""
    share: Annotated[float, Range(above=0.0, at_most=1.0)] = 0.97
    """Largest share of the trust region's radius that the constraints get."""
    timeout_relief: Annotated[float, Range(at_least=0.0, below=1.0)] = 0.25
    """Part of `share` that the constraints give up while episodes run into the time limit."""
    timeout_share: Positive = 0.1
    """Share of timed-out episodes at which the constraints give up all of `timeout_relief`."""
    timeout_limit: Annotated[float, Range(above=0.0, at_most=1.0)] | None = None
    """Share of episodes that may run into the time limit, for tasks in which a time-out is a failure. Time-outs are
    then a constraint. With feedback, steps reduce them while at most `timeout_share` of the episodes time out, and
    only hold them above it. The relief starts above this limit."""
    smoothing: Annotated[float, Range(at_least=0.0, below=1.0)] = SMOOTHING
    """Weight of earlier epochs in the measured shares and means: at least 0, and below 1."""
    gain: Fraction = 0.1
    """Gain of the feedback's integral term per epoch. With 0 there is only the proportional term."""
    episodes: Annotated[int, Range(at_least=0, at_most=10**6)] = 1000
    """Feedback aims at so few violations that a certificate with this number of episodes succeeds. 0 aims at the target
    probability itself."""
    half_signal: NonNegative = 0.0
    """Feedback asks for less where a constraint's gradient is noisy. At this signal (`CostSignal`, averaged over the
    last measurements) it asks for half. 0 ignores the signal."""

    def __post_init__(self) -> None:
        unused = {"own": (*_OF_RADIUS, *_OF_FEEDBACK), "capped": _OF_FEEDBACK, "feedback": ()}
        for name in unused.get(self.kind, ()):
            if getattr(self, name) != getattr(TargetSettings, name):
                why = f"the target `{self.kind}` aims at the bound and has no feedback"
                raise InertSetting(name, getattr(self, name), why)
        if self.timeout_limit is not None and self.timeout_limit >= self.timeout_share:
            raise BadSetting(
                f"timeout_limit={self.timeout_limit:g} is not below timeout_share={self.timeout_share:g}, above which "
                f"time-outs are not reduced. Raise timeout_share."
            )

    def build(self, probability: float) -> "Target":
        from ascpo.surrogates.target import CappedBound, Feedback, OwnBound, RadiusShare, allowed_share

        if self.kind == "own":
            return OwnBound()
        radius = RadiusShare(self.share, self.timeout_relief, self.timeout_share, self.smoothing, self.timeout_limit)
        if self.kind == "capped":
            return CappedBound(radius)
        allowed = allowed_share(probability, self.episodes) if self.episodes else 1.0 - probability
        return Feedback(radius, allowed, self.gain, self.half_signal)
