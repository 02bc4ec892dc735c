"""Bounds on the largest cost 𝒟 of an episode.

What is kept at or under the limit w, with E = mean of 𝒟 and V = its variance:

    expected maximum    E                          SCPO
    reference           E, and a trace of V        what the released ASCPO computes
    paper               E + k·E[𝒟²]                ASCPO, its equations put right
    moment              E + k·E[𝒟²]                the same bound, its gradient from a critic of 𝒟² and not from ω₁, ω₂
    cantelli            E + κ·√V                   holds with the probability p that κ = √(p/(1−p)) is made from
    chance              Pr(𝒟 > w) against 1 − p    the promise itself

E[𝒟²] stands for V because mean + k·variance rewards more certain violations (docs/differences.md); it is no smaller,
so that whatever E + k·V ≤ w promises still holds. Sums run over an episode's steps, means over episodes; A is the
advantage of the increments D, δ the critic's one-step surprise, A₂ the advantage of the increments of M².
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.surrogates.evidence import Constraint, Evidence, Weights, centred


def expected_maximum() -> Constraint:
    """X = Σ ξ·A      c = E − w."""

    def surrogate(evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        return evidence.per_episode(weights.times(evidence.cost_advantage))

    return Constraint(surrogate, lambda evidence, limits: evidence.episodes.maximum - limits)


def reference_bound(k: float, omega1: float, omega2: float) -> Constraint:
    """X = Σ ξ·A + k·ω₁·Σ |(ξ−1)·δ² + 2·ξ·δ·ω₂|      c = E − w, δ centred.

    The variance of the mean is left out: it has no gradient there and cancels in the line search.
    """

    def surrogate(evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        delta = centred(evidence.cost_residual)
        variance = jnp.abs(weights.change(delta**2) + 2.0 * weights.times(delta) * omega2)
        return evidence.per_episode(weights.times(evidence.cost_advantage) + k * omega1 * variance)

    return Constraint(surrogate, lambda evidence, limits: evidence.episodes.maximum - limits)


def paper_bound(k: float, omega1: float, omega2: float) -> Constraint:
    """X = Σ ξ·A + k·ω₁·Σ [(ξ−1)·δ² + 2·ω₂·(ξ−1)·|δ|]      c = E + k·E[𝒟²] − w."""

    def surrogate(evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        delta = evidence.cost_residual
        variance = weights.change(delta**2 + 2.0 * omega2 * jnp.abs(delta))
        return evidence.per_episode(weights.times(evidence.cost_advantage) + k * omega1 * variance)

    return Constraint(surrogate, lambda evidence, limits: _second_moment(evidence, k) - limits)


def moment_bound(k: float) -> Constraint:
    """X = Σ ξ·(A + k·A₂)      c = E + k·E[𝒟²] − w."""

    def surrogate(evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        A, A2 = jnp.split(evidence.cost_advantage, 2, axis=-1)
        return evidence.per_episode(weights.times(A + k * A2))

    return Constraint(surrogate, lambda evidence, limits: _second_moment(evidence, k) - limits)


def cantelli_bound(probability: float) -> Constraint:
    """X = Σ ξ·((1 − κE/σ)₊·A + κ/(2σ)·A₂)      c = E + κσ − w, σ = √V.

    The gradient of E + κσ, but for the ( )₊: where κE > σ, violations are so common that σ would shrink by making them
    more certain, and the bound's own gradient would ask for that.
    """
    kappa = (probability / (1.0 - probability)) ** 0.5

    def sigma(evidence: Evidence) -> Float[Array, " m"]:
        return jnp.sqrt(evidence.episodes.variance)

    def surrogate(evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        A, A2 = jnp.split(evidence.cost_advantage, 2, axis=-1)
        spread = jnp.maximum(sigma(evidence), 1e-6)
        first = jnp.maximum(1.0 - kappa * evidence.episodes.maximum / spread, 0.0)
        return evidence.per_episode(weights.times(first * A + kappa / (2.0 * spread) * A2))

    return Constraint(surrogate, lambda evidence, limits: evidence.episodes.maximum + kappa * sigma(evidence) - limits)


def chance(probability: float) -> Constraint:
    """X = Σ ξ·A      c = Pr(𝒟 > w) − (1 − p), A the advantage of crossing the limit."""

    def surrogate(evidence: Evidence, weights: Weights) -> Float[Array, " m"]:
        return evidence.per_episode(weights.times(evidence.cost_advantage))

    return Constraint(surrogate, lambda evidence, limits: evidence.episodes.exceeding - (1.0 - probability))


def _second_moment(evidence: Evidence, k: float) -> Float[Array, " m"]:
    return evidence.episodes.maximum + k * evidence.episodes.square
