"""Targets: what a step is to achieve of its constraints.

A constraint is c + X(π) − X(πⱼ) ≤ 0. The target decides how much a step does about it:

OwnBound      meet the bound, however much of the trust region that takes.
CappedBound   meet the bound, but take no more than a share β of the region's radius. The reward keeps √(1 − β²) of it.
Feedback      lower each constraint by a fraction of what the region allows, whatever c is. A controller with a
              proportional and an integral term holds the measured quantity Q of the algorithm at its limit w.

                  e = min(Q/w − 1, v/v* − 1)      I ← clip(I + gain·e, 0, 1)      fraction = β·clip(e + I, 0, 1)

              Q is what the algorithm bounds (the mean cost of an episode, its mean largest cost, the mean cost of the
              worst episodes). v is the share of episodes that violate a limit, and v* the share that may. Costs
              are not negative, so that their mean never quite meets a limit of zero: then v alone counts, as it always
              does for ASCPO's violation probability. I does not change while e alone asks for all of β. SB-TRPO, too,
              takes a fixed fraction of the attainable cost reduction (arXiv:2512.23770).

v* is below (1 − p)/m. It is the v at which the run's first certificate of the probability p, with 1000 episodes, would
succeed nine times in ten. A certificate has 3000 episodes by default, but v also differs between seeds: of the policies
that met the v* of 3000 episodes on average, one in four could not be certified.

Why not always the bound itself? A limit of zero is never quite met. If a step aims at it with the whole trust region,
all steps ignore the reward, and the robot learns to stand still. If it aims at c, it does too little: c is estimated on
one batch, where a small part of the region seems to be enough, and on the next batch it was not.

The share β shrinks while episodes run into the time limit, so that a policy that does not reach its goal can follow the
reward. With τ the measured share of such episodes, and τ* the share that may (`timeout_limit`; 0 if there is no limit),

    β = share · (1 − timeout_relief · clip((τ − τ*) / (timeout_share − τ*), 0, 1))

If time-outs are limited, they are a constraint of their own, which steps reduce while τ is at most `timeout_share`.
Above it, most episodes time out whatever the policy does. Then the gradient of the constraint is noise, but would still
take its part of the region, and only the reward can teach the policy to reach its goal. So feedback then holds them: a
fraction of 0 is a step that may not raise them. The capped bound takes the constraint for met.
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
"""Confidence of a run's first certificate. It leaves 0.39 of the total error of 0.05 to later ones."""
_SUCCESS = 0.9
"""Probability with which that certificate is to succeed."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Measured:
    """Measurements of the constraints over the last epochs."""

    relative_excess: Float[Array, " constraints"]
    """Q/w − 1 of the bounded quantity, or ∞ for a limit of zero. Time-outs come last, if they are a constraint."""
    violation_rates: Float[Array, " m"]
    """v: share of the episodes that violate each limit."""
    timeout_rate: Float[Array, ""]
    """τ: share of the episodes that the time limit ended."""
    signal: Float[Array, " constraints"] | None = None
    """Share of each constraint's gradient that is not noise. None if it is not measured."""


@dataclass(frozen=True)
class Demand:
    """What a step is to achieve of the constraints."""

    offset: Float[Array, " m"]
    """c, in the constraints' own units."""
    fraction: Float[Array, " m"] | None = None
    """If given, it replaces c: each constraint is lowered by this fraction of what the region allows."""
    cap: Float[Array, ""] | None = None
    """The share of the region's radius that the constraints may take together."""


Integral = Float[Array, " m"]
"""I of the feedback: its state between epochs."""


@runtime_checkable
class Target(Protocol):
    """What a step is to achieve of its constraints."""

    description: ClassVar[str]
    """A description for logs and reports."""

    @property
    def radius(self) -> "RadiusShare | None":
        """The share of the trust region that the constraints get. None if there is no such share."""
        ...

    def init(self, m: int) -> Integral | None: ...

    def demand(
        self, integral: Integral | None, offset: Float[Array, " m"], measured: Measured
    ) -> tuple[Demand, Integral | None]:
        """The demand on the next step, and the integral after it. `offset` is c of the constraints."""
        ...


@dataclass(frozen=True)
class OwnBound:
    """The algorithm's own bound, as published."""

    description: ClassVar[str] = "the bound itself"

    @property
    def radius(self) -> None:
        return None

    def init(self, m: int) -> None:
        return None

    def demand(
        self, integral: Integral | None, offset: Float[Array, " m"], measured: Measured
    ) -> tuple[Demand, Integral | None]:
        return Demand(offset), integral


@dataclass(frozen=True)
class RadiusShare:
    """β: the share of the region's radius that the constraints get. It is smaller while episodes time out."""

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
        """Whether enough episodes end in time for steps to reduce time-outs."""
        return timeout_rate <= self.timeout_share


@dataclass(frozen=True)
class CappedBound:
    """The algorithm's own bound, within a share of the region."""

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
    """A controller of the measured quantity, whatever the bound is."""

    radius: RadiusShare
    allowed: float
    """v*: the share of episodes that may violate some limit."""
    gain: float
    half_signal: float = 0.0
    """s₀: the signal at which the demand is halved (`signal_weight.py`). 0 leaves all demands whole."""
    description: ClassVar[str] = "feedback from the measured episodes"

    def init(self, m: int) -> Integral:
        return jnp.zeros(m)

    def demand(
        self, integral: Integral | None, offset: Float[Array, " m"], measured: Measured
    ) -> tuple[Demand, Integral | None]:
        if integral is None:
            raise ValueError("Feedback has an integral term: begin with what its `init` gives.")
        beta = self.radius.beta(measured.timeout_rate)
        # All limits are to hold at once, so each gets an equal part of the allowed violations.
        m = len(measured.violation_rates)
        too_many = measured.violation_rates / (self.allowed / m) - 1.0
        # The constraint of time-outs, if there is one, is the last, and has its own limit.
        error = measured.relative_excess.at[:m].min(too_many)
        # Anti-windup: the integral does not change while the error alone asks for everything. If it stopped whenever
        # their sum did, positive errors would count less than negative ones, and v would settle above v*.
        after = jnp.clip(integral + self.gain * jnp.where(error < 1.0, error, 0.0), 0.0, 1.0)
        fraction = beta * jnp.clip(error + after, 0.0, 1.0) * signal_weight(measured.signal, self.half_signal)
        if self.radius.timeout_limit is not None:
            fraction = fraction.at[m:].multiply(self.radius.bounds_timeouts(measured.timeout_rate))
        return Demand(offset, fraction, cap=beta), after


@cache
def allowed_share(probability: float, episodes: int) -> float:
    """v*: the share of violating episodes at which the run's first certificate succeeds nine times in ten.

    The certificate has at least as many episodes as it takes to show the probability without any violation.
    """
    from scipy.special import bdtr, bdtri

    n = max(episodes, math.ceil(math.log(1.0 - _CONFIDENCE) / math.log(probability)))
    # Certified with k violations: as few would be rare if the true share were 1 − p.
    k = next(k for k in range(n) if bdtr(k + 1, n, 1.0 - probability) > 1.0 - _CONFIDENCE)
    return float(bdtri(k, n, _SUCCESS))
