"""Momentum: the constraints' gradients, smoothed over epochs.

    b ← mean of bⱼ, bⱼ₋₁, bⱼ₋₂, …   with weights 1, a, a², …

The noise of a batch has (1 − a)/(1 + a) of its variance left. The price is that bⱼ₋ᵢ is the gradient at the parameters
of i epochs ago: the mean is a/(1 − a) epochs old, and the policy has moved since, by up to δ an epoch. Where the noise
is far larger than what a few steps change of the true gradient, that is a good bargain. Where a step is to undo what
the last one did, it is not. Vectors of parameters are averaged as they are: that F has changed since is neglected.

The line search judges a step by the batch's surrogate X with the mean in place of its own gradient bⱼ:

    X(θ) + (b − bⱼ)ᵀ(θ − θⱼ)

By X itself, most of whose gradient is noise, it would shorten the very steps that the noise has been taken out of.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.trust_region.line_search import Evaluation


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Momentum:
    """Decayed sum of the constraints' gradients, and of their weights."""

    total: Float[Array, "m p"]
    weight: Float[Array, ""]


def no_momentum(m: int, p: int) -> Momentum:
    """Before the first step."""
    return Momentum(jnp.zeros((m, p)), jnp.zeros(()))


def smoothed(
    before: Momentum | None, gradients: Float[Array, "rows p"], a: float
) -> tuple[Float[Array, "rows p"], Momentum | None]:
    """The gradients, of which all but the first, the loss's, are smoothed; and what is carried on."""
    if before is None:
        return gradients, None
    after = Momentum(a * before.total + gradients[1:], a * before.weight + 1.0)
    return jnp.concatenate([gradients[:1], after.total / after.weight]), after


def with_gradients(
    evaluate: Callable[[Float[Array, " p"]], Evaluation],
    theta: Float[Array, " p"],
    own: Float[Array, "rows p"],
    gradients: Float[Array, "rows p"],
) -> Callable[[Float[Array, " p"]], Evaluation]:
    """The same functions, with other gradients of the constraints at θ than their own."""
    change = gradients[1:] - own[1:]

    def evaluated(point: Float[Array, " p"]) -> Evaluation:
        at = evaluate(point)
        return replace(at, constraints=at.constraints + change @ (point - theta))

    return evaluated
