"""Products with the Gauss–Newton (Fisher) matrix F = mean of Jᵀ G J, without forming the matrix.

J is the Jacobian of a model's outputs at one sample, G the metric of the outputs there. For a divergence between
distributions, G its Hessian in their parameters, F is the Hessian of the mean divergence at the point itself.
"""

from collections.abc import Callable

import jax
from jaxtyping import Array, Float, PyTree

Vector = Float[Array, " p"]
"""A point or a direction in the space of the parameters."""


def gauss_newton(
    outputs: Callable[[Vector], PyTree], metric: Callable[[PyTree, PyTree], PyTree], theta: Vector, damping: float
) -> Callable[[Vector], Vector]:
    """v ↦ (F + damping·I) v.

    `outputs` returns the outputs of all samples, as any pytree. `metric(outputs, tangent)` is G·tangent, divided by
    the number of samples.
    """
    at_theta, pushforward = jax.linearize(outputs, theta)
    pullback = jax.linear_transpose(pushforward, theta)

    def product(v: Vector) -> Vector:
        (Fv,) = pullback(metric(at_theta, pushforward(v)))
        # On a finite batch F is only semi-definite; damping keeps v·Fv above zero.
        return Fv + damping * v

    return product
