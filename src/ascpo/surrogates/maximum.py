"""Bounds on the largest cost 𝒟 of an episode.

Each class bounds one quantity by the limit w. E is the mean of 𝒟, and V its variance:

    ExpectedMaximum         E                          SCPO
    ReferenceBound          E, and a trace of V        what the released ASCPO computes
    PaperBound              E + k·E[𝒟²]                ASCPO, its equations put right
    MomentBound             E + k·E[𝒟²]                the same, its gradient from a critic of 𝒟², not from ω₁, ω₂
    CantelliBound           E + κ·√V                   holds with the probability p that κ = √(p/(1−p)) is made from
    ViolationProbability    Pr(𝒟 > w) against 1 − p    the target probability itself
    ChernoffBound           E[φ(𝒟)] against 1 − p      at least Pr(𝒟 > w); near misses move it (theory/chernoff.py)

With m constraints, each may fail with probability (1 − p)/m, so that all hold at once with probability p.

E[𝒟²] stands for V because mean + k·variance rewards more certain violations (docs/differences.md); it is no smaller,
so that whatever E + k·V ≤ w guarantees still holds. Sums run over an episode's steps, means over episodes; A is the
advantage of the increments D, δ the critic's TD error, A₂ the advantage of the increments of M².
"""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.surrogates.evidence import Evidence, centred, relative
from ascpo.surrogates.weights import Weights


@dataclass(frozen=True)
class ExpectedMaximum:
    """X = Σ ξ·A      c = E − w."""

    def surrogate(self, evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        return evidence.per_episode(weights.times(evidence.cost_advantage))

    def offset(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return evidence.episodes.max_cost - limits

    def relative_excess(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return relative(evidence.episodes.max_cost, limits)


@dataclass(frozen=True)
class ReferenceBound:
    """X = Σ ξ·A + k·ω₁·Σ |(ξ−1)·δ² + 2·ξ·δ·ω₂|      c = E − w, δ centred.

    The variance of the mean is left out, because it has no gradient there and cancels in the line search.
    """

    k: float
    omega1: float
    omega2: float

    def surrogate(self, evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        delta = centred(evidence.cost_td_error)
        variance = jnp.abs(weights.change(delta**2) + 2.0 * weights.times(delta) * self.omega2)
        return evidence.per_episode(weights.times(evidence.cost_advantage) + self.k * self.omega1 * variance)

    def offset(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return evidence.episodes.max_cost - limits

    def relative_excess(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return relative(evidence.episodes.max_cost, limits)


@dataclass(frozen=True)
class PaperBound:
    """X = Σ ξ·A + k·ω₁·Σ [(ξ−1)·δ² + 2·ω₂·(ξ−1)·|δ|]      c = E + k·E[𝒟²] − w."""

    k: float
    omega1: float
    omega2: float

    def surrogate(self, evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        delta = evidence.cost_td_error
        variance = weights.change(delta**2 + 2.0 * self.omega2 * jnp.abs(delta))
        return evidence.per_episode(weights.times(evidence.cost_advantage) + self.k * self.omega1 * variance)

    def offset(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return _mean_plus_square(evidence, self.k) - limits

    def relative_excess(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return relative(_mean_plus_square(evidence, self.k), limits)


@dataclass(frozen=True)
class MomentBound:
    """X = Σ ξ·(A + k·A₂)      c = E + k·E[𝒟²] − w."""

    k: float

    def surrogate(self, evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        A, A2 = jnp.split(evidence.cost_advantage, 2, axis=-1)
        return evidence.per_episode(weights.times(A + self.k * A2))

    def offset(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return _mean_plus_square(evidence, self.k) - limits

    def relative_excess(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return relative(_mean_plus_square(evidence, self.k), limits)


@dataclass(frozen=True)
class CantelliBound:
    """X = Σ ξ·((1 − κE/σ)₊·A + κ/(2σ)·A₂)      c = E + κσ − w, σ = √V.

    The gradient of E + κσ, but for the ( )₊: where κE > σ, violations are so common that σ would shrink by making them
    more certain, and the bound's own gradient would ask for that.
    """

    probability: float

    def surrogate(self, evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        A, A2 = jnp.split(evidence.cost_advantage, 2, axis=-1)
        kappa = self._kappa(A.shape[-1])
        spread = jnp.maximum(jnp.sqrt(evidence.episodes.variance), 1e-6)
        first = jnp.maximum(1.0 - kappa * evidence.episodes.max_cost / spread, 0.0)
        return evidence.per_episode(weights.times(first * A + kappa / (2.0 * spread) * A2))

    def offset(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return self._bound(evidence) - limits

    def relative_excess(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return relative(self._bound(evidence), limits)

    def _bound(self, evidence: Evidence) -> Float[Array, " m"]:
        episodes = evidence.episodes
        return episodes.max_cost + self._kappa(len(episodes.max_cost)) * jnp.sqrt(episodes.variance)

    def _kappa(self, m: int) -> float:
        wrong = (1.0 - self.probability) / m
        return ((1.0 - wrong) / wrong) ** 0.5


@dataclass(frozen=True)
class ViolationProbability:
    """X = Σ ξ·A      c = Pr(𝒟 > w) − (1 − p)/m, A the advantage of crossing the limit."""

    probability: float

    def surrogate(self, evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        return evidence.per_episode(weights.times(evidence.cost_advantage))

    def offset(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        return evidence.episodes.violation_rates - (1.0 - self.probability) / len(limits)

    def relative_excess(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        """∞, because the bounded quantity is a share of episodes, and the limits are limits of costs."""
        return jnp.full_like(limits, jnp.inf)


@dataclass(frozen=True)
class ChernoffBound:
    """X = Σ ξ·A      c = E[φ(𝒟)] − (1 − p)/m, A the advantage of the increments of φ."""

    probability: float

    def surrogate(self, evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        return evidence.per_episode(weights.times(evidence.cost_advantage))

    def offset(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        if evidence.cost_signal is None:
            raise ValueError("A Chernoff bound is the mean of its signals: the evidence must have them.")
        return evidence.per_episode(evidence.cost_signal) - (1.0 - self.probability) / len(limits)

    def relative_excess(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m"]:
        """∞: feedback uses the share of violating episodes, which this bounds."""
        return jnp.full_like(limits, jnp.inf)


def _mean_plus_square(evidence: Evidence, k: float) -> Float[Array, " m"]:
    """E + k·E[𝒟²]."""
    return evidence.episodes.max_cost + k * evidence.episodes.max_cost_squared
