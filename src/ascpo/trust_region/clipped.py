"""The step of PPO: descent by Adam on a loss that is not to be trusted far away, until the policy has moved enough."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PyTree

from ascpo.ranges import Iterations, LearningRate
from ascpo.trust_region.dual import Case
from ascpo.trust_region.line_search import Evaluation
from ascpo.trust_region.step import Problem, StepReport, TrustRegion, Vector

_Descent = tuple[Int[Array, ""], Vector, PyTree, Bool[Array, ""]]
"""Steps taken, point, state of Adam, whether to go on."""


@dataclass(frozen=True)
class ClippedStep:
    """Epochs of descent on a clipped loss. It keeps no constraints: their price belongs into the loss."""

    learning_rate: LearningRate = 3e-4
    """Learning rate of Adam."""
    iterations: Iterations = 80
    """Largest number of steps of Adam in an epoch, each on all of its data. The descent ends sooner where the
    divergence passes the trust region's radius."""

    def init(self, theta: Vector, m: int, region: TrustRegion) -> PyTree:
        return optax.adam(self.learning_rate).init(theta)

    def take(self, problem: Problem, region: TrustRegion, state: PyTree) -> tuple[Vector, PyTree, StepReport]:
        """Steps of Adam while the divergence is at most δ. A step that is not finite is not taken, and is the last."""
        if problem.m:
            raise ValueError("A clipped step keeps no constraints: put their price into the loss.")
        optimiser = optax.adam(self.learning_rate)

        def loss(point: Vector) -> tuple[Float[Array, ""], Evaluation]:
            at = problem.evaluate(point)
            return at.loss, at

        def going(descent: _Descent) -> Bool[Array, ""]:
            i, _, _, go_on = descent
            return go_on & (i < self.iterations)

        def step(descent: _Descent) -> _Descent:
            i, point, adam, _ = descent
            slope, at = jax.grad(loss, has_aux=True)(point)
            updates, stepped = optimiser.update(slope, adam, point)
            change = jnp.asarray(updates)
            good = (at.divergence <= region.delta) & jnp.all(jnp.isfinite(change))
            keep = lambda new, old: jnp.where(good, new, old)  # noqa: E731
            return i + good, keep(point + change, point), jax.tree.map(keep, stepped, adam), good

        start = problem.evaluate(problem.theta)
        first = (jnp.zeros((), jnp.int32), problem.theta, state, jnp.ones((), bool))
        taken, point, adam, _ = jax.lax.while_loop(going, step, first)
        return point, adam, self._report(start, problem.evaluate(point), taken)

    def _report(self, start: Evaluation, at: Evaluation, taken: Int[Array, ""]) -> StepReport:
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
            exponent=self.iterations - taken,
            accepted=taken > 0,
            residual=jnp.zeros(()),
            signal=nothing,
        )
