"""Cost signals: the summands, one for each step, of the sums that cost critics predict.

expected cost      Cₜ                    sums to the episode's cost
increments         Dₜ = Mₜ₊₁ − Mₜ        sums to its largest cost 𝒟
moments            Dₜ and Mₜ₊₁² − Mₜ²    sum to 𝒟 and to 𝒟²
crossings          1 when M passes w     sum to 1 if 𝒟 > w, else to 0
excesses           (Zₜ₊₁−ν)₊ − (Zₜ−ν)₊   sum to (Z − ν)₊, by how much the episode's cost Z is over ν
Chernoff weights   φ(Mₜ₊₁) − φ(Mₜ)       sum to φ(𝒟) = min(e^{(𝒟−h−w)/τ}, cap), and to 0 if 𝒟 = 0; 𝒟 − h is signed
union bound        φ(Cₜ)                 sums to at least φ(𝒟), which is the largest of them
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.experience.episodes import over_limit


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Costs:
    """The costs of a rollout, and their running maxima and sums."""

    C: Float[Array, "time env m"]
    M: Float[Array, "time env m"]
    """Running maxima before each step."""
    M_next: Float[Array, "time env m"]
    """Running maxima after each step."""
    w: Float[Array, " m"]
    """Limits."""
    Z: Float[Array, "time env m"]
    """Running sums before each step."""
    Z_next: Float[Array, "time env m"]
    nu: Float[Array, "*steps m"]
    """ν, the value at risk: for every step, or once for all."""
    h: Float[Array, ""] | float = 0.0
    """How far before its limit a cost begins."""


Signal = Callable[[Costs], Float[Array, "time env k"]]
"""k signals, k a multiple of the number of constraints."""


def expected_cost(costs: Costs) -> Float[Array, "time env k"]:
    return costs.C


def increments(costs: Costs) -> Float[Array, "time env k"]:
    return costs.M_next - costs.M


def moments(costs: Costs) -> Float[Array, "time env k"]:
    """All first moments, then all second ones."""
    return jnp.concatenate([costs.M_next - costs.M, costs.M_next**2 - costs.M**2], axis=-1)


def crossings(costs: Costs) -> Float[Array, "time env k"]:
    return passes(costs.M, costs.M_next, costs.w)


def passes(
    before: Float[Array, "time env m"], after: Float[Array, "time env m"], limits: Float[Array, " m"]
) -> Float[Array, "time env m"]:
    """1 where a quantity passes its limit or becomes NaN, and −1 where it falls back.

    Over an episode these sum to 1 if the quantity is over its limit at the end, and to 0 if it is not. A maximum never
    falls back, but a sum does where costs are negative.
    """
    return over_limit(after, limits).astype(jnp.float32) - over_limit(before, limits).astype(jnp.float32)


@dataclass(frozen=True)
class ChernoffWeights:
    """Increments of φ(M). They need near misses: these begin h before the limit, so that 𝒟 − h is the signed cost."""

    tau: float
    cap: float

    def __call__(self, costs: Costs) -> Float[Array, "time env k"]:
        return self.weight(costs.M_next, costs) - self.weight(costs.M, costs)

    def weight(self, M: Float[Array, "time env m"], costs: Costs) -> Float[Array, "time env m"]:
        exponent = jnp.minimum((M - costs.h - costs.w) / self.tau, math.log(self.cap))
        return jnp.where(M > 0.0, jnp.exp(exponent), 0.0)


@dataclass(frozen=True)
class UnionBound:
    """φ of every state. So leaving a costly region pays even after the limit was passed."""

    weights: ChernoffWeights

    def __call__(self, costs: Costs) -> Float[Array, "time env k"]:
        return self.weights.weight(costs.C, costs)


def excesses(costs: Costs) -> Float[Array, "time env k"]:
    return jnp.maximum(costs.Z_next - costs.nu, 0.0) - jnp.maximum(costs.Z - costs.nu, 0.0)
