"""The signal of a gradient: the share of the fall that it predicts which other episodes would confirm.

The gradient b of a batch is the true one, β, and noise of covariance Σ. A step along −F⁻¹b predicts a fall by bᵀF⁻¹b.
What falls is βᵀF⁻¹b:

    E[βᵀF⁻¹b] = βᵀF⁻¹β        E[bᵀF⁻¹b] = βᵀF⁻¹β + tr(F⁻¹Σ)        signal = E[βᵀF⁻¹b] / E[bᵀF⁻¹b]

It is 1 without noise and 0 where all is noise. In many dimensions it is also the mean cos² of the angle between F⁻¹b
and F⁻¹β, measured by F.

β is not known, but two parts of a batch with independent noise know of it independently of each other. Their gradients
are b₁ and b₂, and b = w₁b₁ + w₂b₂, w₁ and w₂ their shares of the batch:

    E[b₁ᵀF⁻¹b₂] = βᵀF⁻¹β        signal ≈ b₁ᵀF⁻¹b₂ / bᵀF⁻¹b

The step has solved for F⁻¹b, so that F⁻¹b₂ alone is left to be solved for. Conjugate gradients stop before that is
exact. They may: b₁ does not depend on x ≈ F⁻¹b₂, so that E[b₁ᵀx] = βᵀE[x], what a step along −x does lower, whatever x
is; and noise alone has the signal zero.

One batch says little: the ratio scatters by about 1/√n, n the number of directions that the noise is in, around what it
estimates, less about 1/n. So it may be below zero, and is not cut there: else the mean over epochs would see a signal
in pure noise.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ascpo.trust_region import conjugate_gradient

Vector = Float[Array, " p"]
_SMOOTHING = 0.9
"""Weight of earlier measurements in their mean."""


@dataclass(frozen=True)
class Part:
    """A part of a batch whose noise is independent of the rest's."""

    constraints: Callable[[Vector], Float[Array, " m"]]
    """The constraints where only this part's samples follow a point, and the others stay at θ."""
    share: float
    """w₁: its share of the batch."""
    due: Bool[Array, ""]
    """Whether this step measures the signal."""


def measure(
    part: Part | None,
    theta: Vector,
    product: Callable[[Vector], Vector],
    b: Float[Array, "m p"],
    Finv_b: Float[Array, "m p"],
    iterations: int,
) -> Float[Array, " m"]:
    """The signal of each constraint's gradient b; NaN where it is not measured."""
    unknown = jnp.full(len(b), jnp.nan)
    if part is None or not len(b):
        return unknown

    def measured() -> Float[Array, " m"]:
        of_part = jax.jacrev(part.constraints)(theta)
        of_part = jnp.where(jnp.all(jnp.isfinite(of_part), axis=1, keepdims=True), of_part, 0.0)
        rest = b - of_part
        x = conjugate_gradient.solve(product, rest, iterations=iterations).x
        # of_part is w₁b₁, and rest is w₂b₂.
        agreeing = jnp.sum(of_part * x, axis=1) / (part.share * (1.0 - part.share))
        return ratio(agreeing, jnp.sum(b * Finv_b, axis=1))

    # A condition that differs between runs would have both branches computed in every epoch.
    found = jax.lax.cond(_of_any_run(part.due), measured, lambda: unknown)
    return jnp.where(part.due, found, unknown)


@jax.custom_batching.custom_vmap
def _of_any_run(flag: Bool[Array, ""]) -> Bool[Array, ""]:
    """A flag of a run by itself, and of several at once the one that all share: whether it is set for any."""
    return flag


@_of_any_run.def_vmap
def _(size: int, batched: list[bool], flags: Bool[Array, " run"]) -> tuple[Bool[Array, ""], bool]:
    return jnp.any(flags), False


def ratio(agreeing: Float[Array, " m"], predicted: Float[Array, " m"]) -> Float[Array, " m"]:
    """b₁ᵀF⁻¹b₂ / bᵀF⁻¹b, from −1 to 1; NaN where there is no gradient."""
    some = predicted > 0.0
    return jnp.where(some, jnp.clip(agreeing / jnp.where(some, predicted, 1.0), -1.0, 1.0), jnp.nan)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SignalTrend:
    """What the last measurements say, the latest weighing most."""

    epochs: Int[Array, ""]
    """Epochs so far."""
    total: Float[Array, " m"]
    weight: Float[Array, " m"]

    def due(self, every: int) -> Bool[Array, ""]:
        """Whether the next epoch is one of every so many."""
        return self.epochs % every == 0

    def after(self, measured: Float[Array, " m"]) -> "SignalTrend":
        """After an epoch that measured this, or NaN."""
        known = jnp.isfinite(measured)
        total = jnp.where(known, _SMOOTHING * self.total + (1.0 - _SMOOTHING) * measured, self.total)
        weight = jnp.where(known, _SMOOTHING * self.weight + (1.0 - _SMOOTHING), self.weight)
        return SignalTrend(self.epochs + 1, total, weight)

    @property
    def share(self) -> Float[Array, " m"]:
        """The mean of the measurements, from 0 to 1; 1 before the first."""
        known = self.weight > 0.0
        return jnp.where(known, jnp.clip(self.total / jnp.where(known, self.weight, 1.0), 0.0, 1.0), 1.0)


def no_signal(m: int) -> SignalTrend:
    """Before anything was measured."""
    return SignalTrend(jnp.zeros((), jnp.int32), jnp.zeros(m), jnp.zeros(m))
