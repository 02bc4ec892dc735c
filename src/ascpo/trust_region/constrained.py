"""The constrained step: natural gradients, the dual, and a line search. Without constraints it is TRPO's step."""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree

from ascpo.trust_region import conjugate_gradient, dual
from ascpo.trust_region.dual import Case
from ascpo.trust_region.line_search import Evaluation, backtrack
from ascpo.trust_region.settings import TrustRegion
from ascpo.trust_region.step import Problem, StepReport, Vector, line_search_report


@dataclass(frozen=True)
class ConstrainedStep:
    """The best step within the region that keeps the constraints, by linear models of loss and constraints."""

    def init(self, theta: Vector) -> PyTree:
        return None

    def take(self, problem: Problem, region: TrustRegion, state: PyTree) -> tuple[Vector, PyTree, StepReport]:
        start, gradients = problem.evaluate(problem.theta), problem.gradients()
        product = problem.product(region.damping)
        solved = conjugate_gradient.solve(product, gradients, iterations=region.cg_iterations)
        products = gradients @ solved.x.T
        products = (products + products.T) / 2
        q, r, S = products[0, 0], products[1:, 0], products[1:, 1:]
        # The largest decrease of each constraint within the region.
        reach = jnp.sqrt(2 * region.delta * jnp.maximum(jnp.diagonal(S), 0.0))
        c = problem.asked(reach)
        solution = dual.solve(q, r, S, c, region.delta, problem.cap)
        x = -(solution.along * solved.x[0] + solution.against @ solved.x[1:])

        objective_must_fall = solution.case >= Case.BOUNDED
        # Rounding and curvature raise a constraint a little that is to be held. That must not shorten a step.
        allowed = jnp.maximum(-c, 0.0) + region.tolerance * reach

        def accept(at: Evaluation) -> Bool[Array, ""]:
            near = at.divergence <= region.delta
            better = (at.loss <= start.loss) | ~objective_must_fall
            return near & better & jnp.all(at.constraints - start.constraints <= allowed)

        found = backtrack(problem.evaluate, accept, problem.theta, x, start, region.backtracking, region.backtracks)
        report = line_search_report(
            found,
            start,
            case=solution.case,
            lam=solution.lam,
            nu=solution.nu,
            asked=solution.asked,
            predicted=gradients[1:] @ found.step(x, region.backtracking) if problem.m else jnp.zeros(0),
            residual=jnp.max(solved.residual),
            signal=problem.signal(product, gradients, solved.x, region),
        )
        return found.theta, state, report
