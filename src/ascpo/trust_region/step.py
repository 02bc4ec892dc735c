"""One step: gradients, F⁻¹ of them, the dual, the line search. Without constraints it is the natural step of TRPO."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ascpo.trust_region import conjugate_gradient, dual
from ascpo.trust_region.dual import Case
from ascpo.trust_region.line_search import Evaluation, backtrack

Vector = Float[Array, " p"]


@dataclass(frozen=True)
class TrustRegion:
    """How a step is computed."""

    delta: float = 0.02
    """Radius of the region: the largest mean divergence of a step, in nats."""
    damping: float = 0.01
    """Added to the Fisher matrix's diagonal."""
    cg_iterations: int = 20
    """Most iterations of conjugate gradients."""
    fisher_stride: int = 5
    """The Fisher matrix is estimated from every so-many-th step."""
    backtracking: float = 0.8
    """By how much a step shrinks when it breaks a promise."""
    backtracks: int = 100
    """How often it may shrink before it is given up."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Report:
    """What a step was and did."""

    case: Int[Array, ""]
    lam: Float[Array, ""]
    nu: Float[Array, " m"]
    asked: Float[Array, " m"]
    """c: by how much each constraint should fall."""
    predicted: Float[Array, " m"]
    """By how much the linear model said that each would change, at the length taken."""
    actual: Float[Array, " m"]
    gain: Float[Array, ""]
    """By how much the loss fell."""
    divergence: Float[Array, ""]
    exponent: Int[Array, ""]
    accepted: Bool[Array, ""]
    residual: Float[Array, ""]
    """The largest relative residual of the linear solves."""


def take_step(
    evaluate: Callable[[Vector], Evaluation],
    product: Callable[[Vector], Vector],
    theta: Vector,
    c: Float[Array, " m"],
    settings: TrustRegion,
    *,
    share: Float[Array, ""] | None = None,
    wanted: Float[Array, " m"] | None = None,
) -> tuple[Vector, Report]:
    """Lower the loss such that cᵢ + (change of constraint i) ≤ 0.

    `product` is multiplication with F, the Hessian of the divergence. `share` bounds what the constraints may ask for
    together, `wanted` is what each asks for whatever its c is: both are shares of the region's radius.
    """
    m = len(c)

    start = evaluate(theta)
    gradients = gradients_at(evaluate, theta, m)
    solved = conjugate_gradient.solve(product, gradients, iterations=settings.cg_iterations)
    products = gradients @ solved.x.T
    products = (products + products.T) / 2
    q, r, S = products[0, 0], products[1:, 0], products[1:, 1:]
    # By how much the region could lower each constraint.
    reach = jnp.sqrt(2 * settings.delta * jnp.maximum(jnp.diagonal(S), 0.0))
    c = c if wanted is None else wanted * reach
    solution = dual.solve(q, r, S, c, settings.delta, share)
    x = -(solution.along * solved.x[0] + solution.against @ solved.x[1:])

    objective_must_fall = solution.case >= Case.BOUNDED
    # What is to be held may rise by a thousandth of that: rounding must not shorten a step.
    allowed = jnp.maximum(-c, 0.0) + 1e-3 * reach

    def accept(at: Evaluation) -> Bool[Array, ""]:
        near = at.divergence <= settings.delta
        better = (at.loss <= start.loss) | ~objective_must_fall
        return near & better & jnp.all(at.constraints - start.constraints <= allowed)

    found = backtrack(evaluate, accept, theta, x, start, factor=settings.backtracking, trials=settings.backtracks)
    taken = jnp.where(found.accepted, settings.backtracking**found.exponent * x, 0.0)
    return (
        found.theta,
        Report(
            case=solution.case,
            lam=solution.lam,
            nu=solution.nu,
            asked=solution.asked,
            predicted=gradients[1:] @ taken if m else jnp.zeros(0),
            actual=found.at.constraints - start.constraints,
            gain=start.loss - found.at.loss,
            divergence=found.at.divergence,
            exponent=found.exponent,
            accepted=found.accepted,
            residual=jnp.max(solved.residual),
        ),
    )


def gradients_at(evaluate: Callable[[Vector], Evaluation], theta: Vector, m: int) -> Float[Array, "rows p"]:
    """Of the loss, then of each of m constraints."""
    # One after the other: going backwards through both, 0 · ∞ in a constraint's part would spoil the loss's gradient.
    gradients = jax.grad(lambda point: evaluate(point).loss)(theta)[None]
    if m:
        gradients = jnp.concatenate([gradients, jax.jacrev(lambda point: evaluate(point).constraints)(theta)])
    # A constraint whose gradient is not finite would make every step so; without it the line search still watches it.
    return jnp.where(jnp.all(jnp.isfinite(gradients), axis=1, keepdims=True), gradients, 0.0)
