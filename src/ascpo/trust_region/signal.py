"""The signal of a gradient: the share of its predicted decrease that would also appear on other episodes.

The gradient b of a batch is the true gradient β plus noise of covariance Σ. For a step along −F⁻¹b, the predicted
decrease is bᵀF⁻¹b, and the true one is βᵀF⁻¹b:

    E[βᵀF⁻¹b] = βᵀF⁻¹β        E[bᵀF⁻¹b] = βᵀF⁻¹β + tr(F⁻¹Σ)        signal = E[βᵀF⁻¹b] / E[bᵀF⁻¹b]

It is 1 without noise, and 0 if b is only noise. In many dimensions it is also the mean cos² of the angle between F⁻¹b
and F⁻¹β, measured by F.

β is unknown, but two parts of a batch with independent noise give independent estimates b₁ and b₂ of it. With w₁ and
w₂ the shares of the parts, b = w₁b₁ + w₂b₂ and

    E[b₁ᵀF⁻¹b₂] = βᵀF⁻¹β        signal ≈ b₁ᵀF⁻¹b₂ / bᵀF⁻¹b

The step has already solved for F⁻¹b, so only F⁻¹b₂ is left. Conjugate gradients give an approximation x of it, which is
good enough: b₁ does not depend on x, so that E[b₁ᵀx] = βᵀE[x] is the true decrease of a step along −x, for any x. Pure
noise has the signal zero.

One batch says little: the estimate has a standard deviation of about 1/√n and a bias of about −1/n, with n the number
of directions of the noise. So it may be negative. It is not clipped at zero, since then the mean over epochs would show
a signal in pure noise.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ascpo.trust_region import conjugate_gradient
from ascpo.trust_region.fisher import Vector

_SMOOTHING = 0.9
"""Weight of earlier measurements in their mean."""


@dataclass(frozen=True)
class SubBatch:
    """A part of a batch whose noise is independent of the rest's."""

    constraints: Callable[[Vector], Float[Array, " m"]]
    """The constraints as a function of the point for these samples, with the other samples at θ."""
    share: float
    """w₁: the share of the batch in this part."""
    due: Bool[Array, ""]
    """Whether this step measures the signal."""


def measure(
    sub_batch: SubBatch | None,
    theta: Vector,
    product: Callable[[Vector], Vector],
    b: Float[Array, "m p"],
    Finv_b: Float[Array, "m p"],
    iterations: int,
) -> Float[Array, " m"]:
    """The signal of each constraint's gradient b. NaN if it is not measured."""
    unknown = jnp.full(len(b), jnp.nan)
    if sub_batch is None or not len(b):
        return unknown

    def measured() -> Float[Array, " m"]:
        w1_b1 = jax.jacrev(sub_batch.constraints)(theta)
        w1_b1 = jnp.where(jnp.all(jnp.isfinite(w1_b1), axis=1, keepdims=True), w1_b1, 0.0)
        w2_b2 = b - w1_b1
        w2_Finv_b2 = conjugate_gradient.solve(product, w2_b2, iterations=iterations).x
        w1, w2 = sub_batch.share, 1.0 - sub_batch.share
        agreeing = jnp.sum(w1_b1 * w2_Finv_b2, axis=1) / (w1 * w2)
        return ratio(agreeing, jnp.sum(b * Finv_b, axis=1))

    # Under `vmap`, a condition that differs between runs would compute both branches in every epoch.
    found = jax.lax.cond(_of_any_run(sub_batch.due), measured, lambda: unknown)
    return jnp.where(sub_batch.due, found, unknown)


@jax.custom_batching.custom_vmap
def _of_any_run(flag: Bool[Array, ""]) -> Bool[Array, ""]:
    """The flag itself. Under `vmap`, one flag for all runs: whether it is set for any of them."""
    return flag


@_of_any_run.def_vmap
def _(size: int, batched: list[bool], flags: Bool[Array, " run"]) -> tuple[Bool[Array, ""], bool]:
    return jnp.any(flags), False


def ratio(agreeing: Float[Array, " m"], predicted: Float[Array, " m"]) -> Float[Array, " m"]:
    """b₁ᵀF⁻¹b₂ / bᵀF⁻¹b, clipped to [−1, 1]. NaN without a gradient."""
    some = predicted > 0.0
    return jnp.where(some, jnp.clip(agreeing / jnp.where(some, predicted, 1.0), -1.0, 1.0), jnp.nan)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SignalTrend:
    """A moving average of the measured signals."""

    epochs: Int[Array, ""]
    """Epochs so far."""
    total: Float[Array, " m"]
    weight: Float[Array, " m"]

    def due(self, every: int) -> Bool[Array, ""]:
        """Whether the next epoch measures the signal."""
        return self.epochs % every == 0

    def after(self, measured: Float[Array, " m"]) -> "SignalTrend":
        """The average after an epoch that measured this, or did not (NaN)."""
        known = jnp.isfinite(measured)
        total = jnp.where(known, _SMOOTHING * self.total + (1.0 - _SMOOTHING) * measured, self.total)
        weight = jnp.where(known, _SMOOTHING * self.weight + (1.0 - _SMOOTHING), self.weight)
        return SignalTrend(self.epochs + 1, total, weight)

    @property
    def share(self) -> Float[Array, " m"]:
        """The average, from 0 to 1. It is 1 before the first measurement."""
        known = self.weight > 0.0
        return jnp.where(known, jnp.clip(self.total / jnp.where(known, self.weight, 1.0), 0.0, 1.0), 1.0)


def no_signal(m: int) -> SignalTrend:
    """The state before the first measurement."""
    return SignalTrend(jnp.zeros((), jnp.int32), jnp.zeros(m), jnp.zeros(m))
