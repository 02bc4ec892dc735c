"""A projected step (PCPO, arXiv:2010.03152): the natural step, then the nearest point that keeps the constraint.

    x = √(2δ/q)·F⁻¹(−g) − [(bᵀx₀ + c) / (bᵀL⁻¹b)]₊ · L⁻¹b

x₀ is the natural step, and L = F (nearest in divergence) or L = I (nearest in parameters). With several constraints,
the projection's dual is solved by coordinate ascent, one multiplier after the other (Hildreth's method).
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from ascpo.trust_region import conjugate_gradient
from ascpo.trust_region.dual import Case
from ascpo.trust_region.line_search import Evaluation, backtrack
from ascpo.trust_region.projected import ProjectedStep
from ascpo.trust_region.settings import TrustRegion
from ascpo.trust_region.step import Problem, StepReport, Vector, line_search_report

_SMALL = 1e-12


def projected_step(
    rule: ProjectedStep, problem: Problem, region: TrustRegion, state: PyTree
) -> tuple[Vector, PyTree, StepReport]:
    """The natural step, its projection, and a line search if the step must stay within the region."""
    problem = _capped(problem)
    start, gradients = problem.evaluate(problem.theta), problem.gradients()
    product = problem.product(region.damping)
    solved = conjugate_gradient.solve(product, gradients, iterations=region.cg_iterations)
    g, b = gradients[0], gradients[1:]
    q = jnp.maximum(g @ solved.x[0], 0.0)
    S = b @ solved.x[1:].T
    length = jnp.where(q > _SMALL, jnp.sqrt(2 * region.delta / jnp.maximum(q, _SMALL)), 0.0)
    c = problem.asked(jnp.sqrt(2 * region.delta * jnp.maximum(jnp.diagonal(S), 0.0)))
    if problem.fraction is not None:
        # Room for the constraints. Without it, the line search would shorten the step and the constraints' part of it.
        kept_free = jnp.sum(jnp.maximum(problem.fraction, 0.0) ** 2)
        length = length * jnp.sqrt(jnp.maximum(1.0 - kept_free, 0.0))
    x, nu = project(-length * solved.x[0], b, b if rule.nearest == "parameters" else solved.x[1:], c)

    def accept(at: Evaluation) -> Bool[Array, ""]:
        return (at.divergence <= region.delta) | (not rule.within_region)

    found = backtrack(problem.evaluate, accept, problem.theta, x, start, region.backtracking, region.backtracks)
    report = line_search_report(
        found,
        start,
        case=jnp.where(jnp.any(nu > 0.0), int(Case.BOUNDED), int(Case.FREE)),
        lam=jnp.where(length > 0.0, 1.0 / jnp.maximum(length, _SMALL), 0.0),
        nu=nu,
        asked=c,
        predicted=b @ found.step(x, region.backtracking),
        residual=jnp.max(solved.residual),
        signal=problem.signal(product, gradients, solved.x, region),
    )
    return found.theta, state, report


def _capped(problem: Problem) -> Problem:
    """The problem with demands that fit the cap: if they exceed it together, they are scaled by a common factor."""
    if problem.fraction is None or problem.cap is None:
        return problem
    demanded = jnp.sum(jnp.maximum(problem.fraction, 0.0) ** 2)
    # Squares are compared, so that rounding does not scale a single demand that equals the cap.
    scale = jnp.where(demanded > problem.cap**2, problem.cap / jnp.sqrt(jnp.maximum(demanded, _SMALL)), 1.0)
    return replace(problem, fraction=jnp.where(problem.fraction > 0.0, scale * problem.fraction, problem.fraction))


def project(
    x: Vector, b: Float[Array, "m p"], Linv_b: Float[Array, "m p"], c: Float[Array, " m"]
) -> tuple[Vector, Float[Array, " m"]]:
    """The nearest point to x with c + b·x ≤ 0, as far as there is one, and the multipliers of L⁻¹b that lead there.

    A single constraint is met exactly. Several are met in turn, for many rounds, since meeting one may violate another.
    Each round also lowers multipliers that have become larger than necessary.
    """
    m = len(c)
    S = b @ Linv_b.T
    own = jnp.diagonal(S)
    # A constraint without gradient cannot be met by any step.
    can = own > jnp.maximum(_SMALL * jnp.max(own, initial=0.0), 1e-30)

    def meet(nu: Float[Array, " m"], i: Array) -> tuple[Float[Array, " m"], None]:
        broken = c[i] + b[i] @ x - S[i] @ nu
        fresh = jnp.maximum(nu[i] + broken / jnp.where(can[i], own[i], 1.0), 0.0)
        return nu.at[i].set(jnp.where(can[i], fresh, 0.0)), None

    around = jnp.tile(jnp.arange(m), 1 if m == 1 else 50)
    nu, _ = jax.lax.scan(meet, jnp.zeros(m), around)
    return x - nu @ Linv_b, nu
