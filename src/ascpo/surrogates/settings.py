"""Settings of what a step is to achieve. They are read without JAX."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Literal

from ascpo.errors import BadSetting, InertSetting
from ascpo.ranges import Fraction, NonNegative, Positive, Range

if TYPE_CHECKING:
    from ascpo.surrogates.target import Target

SMOOTHING = 0.7
"""Weight of earlier epochs in what is measured, unless the target's settings have another."""


def worst_episodes(alpha: float) -> str:
    """What CVaR is about, in words."""
    return f"the mean cost of the worst {100 * (1 - alpha):g} % of the episodes"


@dataclass(frozen=True)
class TargetSettings:
    """What every step of a constrained algorithm is to achieve."""

    kind: Literal["feedback", "capped", "own"] = "feedback"
    """feedback: as much as the measured episodes ask for; capped: the algorithm's own bound within a share of the trust
    region; own: the algorithm's own bound, however much that takes."""
    share: Annotated[float, Range(above=0.0, at_most=1.0)] = 0.97
    """Share of the trust region's radius that the constraints get."""
    timeout_relief: Annotated[float, Range(at_least=0.0, below=1.0)] = 0.25
    """Part of that share that is given up when episodes run into the time limit."""
    timeout_share: Positive = 0.1
    """Share of episodes that time out from which on all of the relief is given."""
    timeout_limit: Annotated[float, Range(above=0.0, at_most=1.0)] | None = None
    """Share of episodes that may run into the time limit, for tasks in which a time-out is a failure. It makes
    time-outs a constraint of their own as long as no more than `timeout_share` time out, and relief begins above it."""
    smoothing: Annotated[float, Range(at_least=0.0, below=1.0)] = SMOOTHING
    """Weight of earlier epochs in what is measured, from 0 up to but not 1."""
    gain: Fraction = 0.1
    """Gain of the feedback's integral term, for each epoch; 0 leaves the proportional term alone."""
    episodes: Annotated[int, Range(at_least=0, at_most=10**6)] = 1000
    """Number of episodes of the certificate that shall succeed: feedback aims at so few violations. 0 aims at the
    target probability itself."""
    half_signal: NonNegative = 0.0
    """Signal of a constraint's gradient (`CostSignal`, over the last measurements) for which feedback asks for half of
    what it would ask for else; for more signal it asks for more, and for less, less. 0 asks for all, whatever the
    signal."""

    def __post_init__(self) -> None:
        inert = fields(self)[1:] if self.kind == "own" else fields(self)[-3:] if self.kind == "capped" else ()
        for name, default in ((field.name, field.default) for field in inert):
            if getattr(self, name) != default:
                why = f"the target `{self.kind}` goes by the bound, not by feedback"
                raise InertSetting(name, getattr(self, name), why)
        if self.timeout_limit is not None and self.timeout_limit >= self.timeout_share:
            raise BadSetting(
                f"timeout_limit={self.timeout_limit:g} is not below timeout_share={self.timeout_share:g}, above which "
                f"time-outs are no constraint. Raise timeout_share."
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
