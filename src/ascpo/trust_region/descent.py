"""The computation of `ClippedStep`: descent by Adam on a clipped loss, within the trust region."""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PyTree

from ascpo.trust_region.clipped import ClippedStep
from ascpo.trust_region.dual import Case
from ascpo.trust_region.line_search import Evaluation
from ascpo.trust_region.settings import TrustRegion
from ascpo.trust_region.step import Problem, StepReport, Vector

_Descent = tuple[Int[Array, ""], Vector, PyTree, Bool[Array, ""]]
"""Steps taken, point, state of Adam, whether to go on."""


def start(rule: ClippedStep, theta: Vector) -> PyTree:
    return optax.adam(rule.learning_rate).init(theta)


def descend(
    rule: ClippedStep, problem: Problem, region: TrustRegion, state: PyTree
) -> tuple[Vector, PyTree, StepReport]:
    """Take steps of Adam while the divergence is at most δ. A step that is not finite is dropped, and is the last."""
    if problem.m:
        raise ValueError("A clipped step keeps no constraints: put a penalty into the loss.")
    optimiser = optax.adam(rule.learning_rate)

    def loss(point: Vector) -> tuple[Float[Array, ""], Evaluation]:
        at = problem.evaluate(point)
        return at.loss, at

    def going(descent: _Descent) -> Bool[Array, ""]:
        i, _, _, go_on = descent
        return go_on & (i < rule.iterations)

    def step(descent: _Descent) -> _Descent:
        i, point, adam, _ = descent
        slope, at = jax.grad(loss, has_aux=True)(point)
        updates, stepped = optimiser.update(slope, adam, point)
        change = jnp.asarray(updates)
        good = (at.divergence <= region.delta) & jnp.all(jnp.isfinite(change))
        keep = lambda new, old: jnp.where(good, new, old)  # noqa: E731
        return i + good, keep(point + change, point), jax.tree.map(keep, stepped, adam), good

    before = problem.evaluate(problem.theta)
    first = (jnp.zeros((), jnp.int32), problem.theta, state, jnp.ones((), bool))
    taken, point, adam, _ = jax.lax.while_loop(going, step, first)
    return point, adam, _report(rule, before, problem.evaluate(point), taken)


def _report(rule: ClippedStep, start: Evaluation, at: Evaluation, taken: Int[Array, ""]) -> StepReport:
    nothing = jnp.zeros(0)
    return StepReport(
        case=jnp.array(int(Case.FREE)),
        lam=jnp.zeros(()),
        nu=nothing,
        asked=nothing,
        predicted=nothing,
        actual=nothing,
        gain=start.loss - at.loss,
        divergence=at.divergence,
        exponent=rule.iterations - taken,
        accepted=taken > 0,
        residual=jnp.zeros(()),
        signal=nothing,
    )
