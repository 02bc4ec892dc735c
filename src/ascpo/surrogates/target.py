"""Targets: what a constrained step is to achieve.

A constraint is c + X(π) − X(πⱼ) ≤ 0. What a step does about it is the target's:

OwnBound            the bound's own c, however much of the trust region that takes.
CappedBound         the bound's own c, but the constraints take no more than a share β of the region's radius, so that
                    the reward keeps √(1 − β²) of it.
ViolationFeedback   a fraction of what the region can lower each constraint by, from the measured share v of episodes
                    that violate a limit, whatever c is:

                        β · clip(v / (1 − p) − 1, 0, 1)

                    all of β while more than twice as many episodes violate as the target probability p allows, nothing
                    once few enough do. Then the constraint is only to be held. A fixed fraction of the attainable
                    cost reduction is what SB-TRPO takes as well (arXiv:2512.23770).

Why not always the bound itself: a limit of zero is never quite met. Asked for all at once, it would take the whole
trust region for ever, steps would ignore the reward, and the robot would learn to stand still. Asked for as c says, it
gets too little: on one batch a small part of the region seems to be enough, on the next one it was not.

The share itself shrinks while episodes run into the time limit: what cannot drive yet, or has parked, is given more
room. With τ the measured share of such episodes,

    β = share · (1 − timeout_relief · min(τ / timeout_share, 1))
"""

from dataclasses import dataclass, fields
from typing import ClassVar, Literal, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.errors import InertSetting
from ascpo.experience.episodes import EpisodeStatistics


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MeasuredRates:
    """What the last epochs measured, the latest weighing most."""

    violation_rates: Float[Array, " m"]
    """Share of the episodes that violate each limit."""
    timeout_rate: Float[Array, ""]
    """Share of the episodes that the time limit ended."""
    weight: Float[Array, ""]
    """Weight of all that was measured: 0 at first."""

    def after(self, episodes: EpisodeStatistics, smoothing: float) -> "MeasuredRates":
        def blend(before: Float[Array, "*m"], now: Float[Array, "*m"]) -> Float[Array, "*m"]:
            return smoothing * before + (1.0 - smoothing) * now

        return MeasuredRates(
            blend(self.violation_rates, episodes.violation_rates),
            blend(self.timeout_rate, episodes.timeout_rate),
            blend(self.weight, jnp.ones(())),
        )


@dataclass(frozen=True)
class Demand:
    """What the constraints ask of a step."""

    offset: Float[Array, " m"]
    """c, in the constraints' own units."""
    fraction: Float[Array, " m"] | None = None
    """Instead of c: a fraction of what the region can lower each constraint by."""
    cap: Float[Array, ""] | None = None
    """The share of the region's radius that the constraints may take together."""


@runtime_checkable
class Target(Protocol):
    """What a constrained step is to achieve. Its state is carried from epoch to epoch."""

    description: ClassVar[str]
    """What a step is to achieve, for a person."""

    def init(self, m: int) -> MeasuredRates | None: ...

    def update(self, state: MeasuredRates | None, episodes: EpisodeStatistics) -> MeasuredRates | None:
        """The state after an epoch's episodes."""
        ...

    def demand(self, state: MeasuredRates | None, offset: Float[Array, " m"]) -> Demand:
        """What the constraints ask of the next step; `offset` is their own c."""
        ...


@dataclass(frozen=True)
class OwnBound:
    """The algorithm's own bound, as published."""

    description: ClassVar[str] = "the bound itself"

    def init(self, m: int) -> None:
        return None

    def update(self, state: MeasuredRates | None, episodes: EpisodeStatistics) -> None:
        return None

    def demand(self, state: MeasuredRates | None, offset: Float[Array, " m"]) -> Demand:
        return Demand(offset)


@dataclass(frozen=True)
class RadiusShare:
    """β: the share of the region's radius that the constraints get, less while episodes time out."""

    share: float
    timeout_relief: float
    timeout_share: float
    smoothing: float

    def init(self, m: int) -> MeasuredRates:
        return MeasuredRates(jnp.zeros(m), jnp.zeros(()), jnp.zeros(()))

    def beta(self, rates: MeasuredRates) -> Float[Array, ""]:
        parked = jnp.minimum(rates.timeout_rate / rates.weight / self.timeout_share, 1.0)
        return self.share * (1.0 - self.timeout_relief * parked)


@dataclass(frozen=True)
class CappedBound:
    """The algorithm's own bound, for which it gets no more than a share of the region."""

    radius: RadiusShare
    description: ClassVar[str] = "the bound, capped at a share of the trust region"

    def init(self, m: int) -> MeasuredRates:
        return self.radius.init(m)

    def update(self, state: MeasuredRates | None, episodes: EpisodeStatistics) -> MeasuredRates:
        return _known(state).after(episodes, self.radius.smoothing)

    def demand(self, state: MeasuredRates | None, offset: Float[Array, " m"]) -> Demand:
        return Demand(offset, cap=self.radius.beta(_known(state)))


@dataclass(frozen=True)
class ViolationFeedback:
    """As much as the measured share of violating episodes asks for, whatever the bound says."""

    radius: RadiusShare
    probability: float
    """p: the share of episodes that shall keep every limit in every state."""
    description: ClassVar[str] = "feedback from the measured share of violating episodes"

    def init(self, m: int) -> MeasuredRates:
        return self.radius.init(m)

    def update(self, state: MeasuredRates | None, episodes: EpisodeStatistics) -> MeasuredRates:
        return _known(state).after(episodes, self.radius.smoothing)

    def demand(self, state: MeasuredRates | None, offset: Float[Array, " m"]) -> Demand:
        rates = _known(state)
        beta = self.radius.beta(rates)
        # All limits together are to hold with the probability, so each gets a part of what may go wrong.
        allowed = (1.0 - self.probability) / len(rates.violation_rates)
        too_many = jnp.clip(rates.violation_rates / rates.weight / allowed - 1.0, 0.0, 1.0)
        return Demand(offset, fraction=beta * too_many, cap=beta)


def _known(state: MeasuredRates | None) -> MeasuredRates:
    if state is None:
        raise ValueError("This target goes by what epochs measured: begin with what its `init` gives.")
    return state


@dataclass(frozen=True)
class TargetSettings:
    """What every step of a constrained algorithm is to achieve."""

    kind: Literal["feedback", "capped", "own"] = "feedback"
    """feedback: as much as the measured share of violating episodes asks for; capped: the algorithm's own bound within
    a share of the trust region; own: the algorithm's own bound, however much that takes."""
    share: float = 0.97
    """Share of the trust region's radius that the constraints get."""
    timeout_relief: float = 0.25
    """Part of that share that is given up when episodes run into the time limit."""
    timeout_share: float = 0.1
    """Share of episodes that time out from which on all of the relief is given."""
    smoothing: float = 0.7
    """Weight of earlier epochs in the measured rates, from 0 up to but not 1."""

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise ValueError(f"share={self.share} must be above 0 and at most 1. Try 0.97.")
        if not 0.0 <= self.smoothing < 1.0:
            raise ValueError(f"smoothing={self.smoothing} must be at least 0 and less than 1.")
        if not 0.0 <= self.timeout_relief < 1.0 or self.timeout_share <= 0.0:
            raise ValueError(
                f"timeout_relief={self.timeout_relief} must be at least 0 and less than 1, and "
                f"timeout_share={self.timeout_share} above 0."
            )
        inert = [field.name for field in fields(self)[1:] if getattr(self, field.name) != field.default]
        if self.kind == "own" and inert:
            raise InertSetting(inert[0], getattr(self, inert[0]), "the target `own` follows the bound alone")

    def build(self, probability: float) -> Target:
        if self.kind == "own":
            return OwnBound()
        radius = RadiusShare(self.share, self.timeout_relief, self.timeout_share, self.smoothing)
        return CappedBound(radius) if self.kind == "capped" else ViolationFeedback(radius, probability)
