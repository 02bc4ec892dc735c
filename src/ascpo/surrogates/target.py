"""Targets: what a constrained step is to achieve.

A constraint is c + X(π) − X(πⱼ) ≤ 0. What a step does about it is the target's:

OwnBound      the bound's own c, however much of the trust region that takes.
CappedBound   the bound's own c, but the constraints take no more than a share β of the region's radius, so that the
              reward keeps √(1 − β²) of it.
Feedback      a fraction of what the region can lower each constraint by, whatever c is: a controller with a
              proportional and an integral term, which holds the measured quantity Q of the algorithm at its limit w.

                  e = min(Q/w − 1, v/v* − 1)      I ← clip(I + gain·e, 0, 1)      fraction = β·clip(e + I, 0, 1)

              Q is what the algorithm bounds (the mean cost of an episode, its mean largest cost, the mean cost of the
              worst episodes). v is the share of episodes that violate a limit, and v* the share that may. The mean of
              costs, which are not negative, never quite meets a limit of zero: then v alone counts, as it always does
              for ASCPO's violation probability. I rests while e alone asks for all of β. A fixed fraction of the
              attainable cost reduction is what SB-TRPO takes as well (arXiv:2512.23770).

v* is below (1 − p)/m: so far below that the run's first certificate of the probability p, with 1000 episodes, succeeds
nine times in ten while v is at v*. Seeds differ by more than so few episodes tell, which is why fewer are planned for
than a certificate has (3000): of the policies that met the v* of 3000 on average, every fourth could not be certified.

Why not always the bound itself: a limit of zero is never quite met. Asked for all at once, it would take the whole
trust region for ever, steps would ignore the reward, and the robot would learn to stand still. Asked for as c says, it
gets too little: on one batch a small part of the region seems to be enough, on the next one it was not.

The share itself shrinks while episodes run into the time limit: what cannot drive yet, or has parked, is given more
room. With τ the measured share of such episodes, and τ* the share that may (`timeout_limit`; 0 if there is no limit),

    β = share · (1 − timeout_relief · clip((τ − τ*) / (timeout_share − τ*), 0, 1))

Where time-outs are limited, they are a constraint of their own, while τ is at most `timeout_share`. A policy that often
does not reach the goal must learn from the reward how to: its episodes time out whatever it does, so that the gradient
of the constraint is noise, and would still claim its part of the region.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ascpo.surrogates.signal_weight import signal_weight
from ascpo.surrogates.timeouts import timeout_ramp

_CONFIDENCE = 1.0 - 0.05 * 6.0 / math.pi**2
"""Of the certificate that shall succeed: a run's first one, which leaves 0.39 of its error of 0.05 to later ones."""
_SUCCESS = 0.9
"""With this probability."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Measured:
    """What the last epochs say of the constraints."""

    relative_excess: Float[Array, " constraints"]
    """Q/w − 1: by how much what the algorithm bounds is over its limit; ∞ for a limit of zero. Time-outs come last, if
    they are a constraint."""
    violation_rates: Float[Array, " m"]
    """v: share of the episodes that violate each limit."""
    timeout_rate: Float[Array, ""]
    """τ: share of the episodes that the time limit ended."""
    signal: Float[Array, " constraints"] | None = None
    """Share of each constraint's gradient that is no noise; None where it is not measured."""


@dataclass(frozen=True)
class Demand:
    """What the constraints ask of a step."""

    offset: Float[Array, " m"]
    """c, in the constraints' own units."""
    fraction: Float[Array, " m"] | None = None
    """Instead of c: a fraction of what the region can lower each constraint by."""
    cap: Float[Array, ""] | None = None
    """The share of the region's radius that the constraints may take together."""


Integral = Float[Array, " m"]
"""I of the feedback, which is carried from epoch to epoch."""


@runtime_checkable
class Target(Protocol):
    """What a constrained step is to achieve."""

    description: ClassVar[str]
    """What a step is to achieve, for a person."""

    @property
    def radius(self) -> "RadiusShare | None":
        """The share of the trust region that the constraints get. None if there is no such share."""
        ...

    def init(self, m: int) -> Integral | None: ...

    def demand(
        self, integral: Integral | None, offset: Float[Array, " m"], measured: Measured
    ) -> tuple[Demand, Integral | None]:
        """What the constraints ask of the next step, and what is carried on; `offset` is their own c."""
        ...


@dataclass(frozen=True)
class OwnBound:
    """The algorithm's own bound, as published."""

    description: ClassVar[str] = "the bound itself"
    radius: ClassVar[None] = None

    def init(self, m: int) -> None:
        return None

    def demand(
        self, integral: Integral | None, offset: Float[Array, " m"], measured: Measured
    ) -> tuple[Demand, Integral | None]:
        return Demand(offset), integral


@dataclass(frozen=True)
class RadiusShare:
    """β: the share of the region's radius that the constraints get, less while episodes time out."""

    share: float
    timeout_relief: float
    timeout_share: float
    smoothing: float
    """Weight of earlier epochs in the measurements."""
    timeout_limit: float | None = None
    """The share of episodes that may time out. If it is given, time-outs are a constraint of their own."""

    def beta(self, timeout_rate: Float[Array, ""]) -> Float[Array, ""]:
        allowed = self.timeout_limit or 0.0
        return self.share * (1.0 - self.timeout_relief * timeout_ramp(timeout_rate, allowed, self.timeout_share))

    def bounds_timeouts(self, timeout_rate: Float[Array, ""]) -> Bool[Array, ""]:
        """Whether enough episodes end in time for time-outs to be a constraint."""
        return timeout_rate <= self.timeout_share


@dataclass(frozen=True)
class CappedBound:
    """The algorithm's own bound, for which it gets no more than a share of the region."""

    radius: RadiusShare
    description: ClassVar[str] = "the bound, capped at a share of the trust region"

    def init(self, m: int) -> None:
        return None

    def demand(
        self, integral: Integral | None, offset: Float[Array, " m"], measured: Measured
    ) -> tuple[Demand, Integral | None]:
        if self.radius.timeout_limit is not None:
            m = len(measured.violation_rates)
            met = jnp.minimum(offset[m:], -1.0)
            offset = offset.at[m:].set(jnp.where(self.radius.bounds_timeouts(measured.timeout_rate), offset[m:], met))
        return Demand(offset, cap=self.radius.beta(measured.timeout_rate)), integral


@dataclass(frozen=True)
class Feedback:
    """As much as the measured quantity asks for, whatever the bound says."""

    radius: RadiusShare
    allowed: float
    """v*: the share of episodes that may violate some limit."""
    gain: float
    half_signal: float = 0.0
    """s₀: the signal for which half is asked for (`signal_weight.py`); 0 asks for all."""
    description: ClassVar[str] = "feedback from the measured episodes"

    def init(self, m: int) -> Integral:
        return jnp.zeros(m)

    def demand(
        self, integral: Integral | None, offset: Float[Array, " m"], measured: Measured
    ) -> tuple[Demand, Integral | None]:
        if integral is None:
            raise ValueError("Feedback has an integral term: begin with what its `init` gives.")
        beta = self.radius.beta(measured.timeout_rate)
        # All limits together are to hold with the probability, so each gets a part of what may go wrong.
        m = len(measured.violation_rates)
        too_many = measured.violation_rates / (self.allowed / m) - 1.0
        # Time-outs, the last of the constraints if they are one, have a limit of their own.
        error = measured.relative_excess.at[:m].min(too_many)
        # No wind-up: where the error alone asks for all there is, the limit is far away, and the integral rests. It
        # must not rest wherever their sum asks for all: errors above zero would then count less than those below, and
        # v would settle above v*.
        after = jnp.clip(integral + self.gain * jnp.where(error < 1.0, error, 0.0), 0.0, 1.0)
        fraction = beta * jnp.clip(error + after, 0.0, 1.0) * signal_weight(measured.signal, self.half_signal)
        if self.radius.timeout_limit is not None:
            fraction = fraction.at[m:].multiply(self.radius.bounds_timeouts(measured.timeout_rate))
        return Demand(offset, fraction, cap=beta), after


@cache
def allowed_share(probability: float, episodes: int) -> float:
    """v*: while so many episodes violate, the run's first certificate succeeds nine times in ten.

    With fewer episodes than can show the probability at all, as many count as can.
    """
    from scipy.special import bdtr, bdtri

    n = max(episodes, math.ceil(math.log(1.0 - _CONFIDENCE) / math.log(probability)))
    # Certified with k violations: as few would be rare if the true share were 1 − p.
    k = next(k for k in range(n) if bdtr(k + 1, n, 1.0 - probability) > 1.0 - _CONFIDENCE)
    return float(bdtri(k, n, _SUCCESS))
