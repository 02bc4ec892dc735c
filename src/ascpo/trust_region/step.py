"""The problem that a step solves, the report of a step, and the protocol of step rules."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from ascpo.trust_region.fisher import Vector, gauss_newton
from ascpo.trust_region.line_search import Evaluation, LineSearchResult
from ascpo.trust_region.settings import TrustRegion
from ascpo.trust_region.signal import SubBatch, measure

AnyArray = Array | np.ndarray


@dataclass(frozen=True)
class Problem:
    """Lower a loss near θ such that cᵢ + (change of constraint i) ≤ 0, within a trust region."""

    theta: Vector
    evaluate: Callable[[Vector], Evaluation]
    """The loss, the constraints and the divergence from θ at a point."""
    outputs: Callable[[Vector], PyTree]
    """The model's outputs at a point, any pytree."""
    metric: Callable[[PyTree, PyTree], PyTree]
    """(outputs, tangent) → G·tangent, G the Hessian of the mean divergence in the outputs."""
    offset: Float[Array, " m"]
    """c, in the constraints' own units."""
    fraction: Float[Array, " m"] | None = None
    """If given, it replaces c: each constraint is lowered by this fraction of what the region allows."""
    cap: Float[Array, ""] | None = None
    """The share of the region's radius that the constraints may take together. None for all of it."""
    sub_batch: SubBatch | None = None
    """The part of the batch with which the signal of the constraints' gradients is measured."""

    @property
    def m(self) -> int:
        return len(self.offset)

    def product(self, damping: float) -> Callable[[Vector], Vector]:
        """v ↦ (F + damping·I) v."""
        return gauss_newton(self.outputs, self.metric, self.theta, damping)

    def asked(self, reach: Float[Array, " m"]) -> Float[Array, " m"]:
        """c. `reach` is the largest decrease of each constraint within the region."""
        return self.offset if self.fraction is None else self.fraction * reach

    def signal(
        self,
        product: Callable[[Vector], Vector],
        gradients: Float[Array, "rows p"],
        solved: Float[Array, "rows p"],
        region: TrustRegion,
    ) -> Float[Array, " m"]:
        """The signal of the constraints' gradients on this batch. NaN if this step does not measure it."""
        return measure(self.sub_batch, self.theta, product, gradients[1:], solved[1:], region.cg_iterations)

    def gradients(self) -> Float[Array, "rows p"]:
        """The gradients at θ: of the loss, then of each constraint."""
        # Computed separately: in a joint backward pass, 0 · ∞ in a constraint's part would spoil the loss's gradient.
        gradients = jax.grad(lambda point: self.evaluate(point).loss)(self.theta)[None]
        if self.m:
            constraints = jax.jacrev(lambda point: self.evaluate(point).constraints)(self.theta)
            gradients = jnp.concatenate([gradients, constraints])
        # A gradient that is not finite would make the step so. The line search still checks that constraint.
        return jnp.where(jnp.all(jnp.isfinite(gradients), axis=1, keepdims=True), gradients, 0.0)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StepReport:
    """What a step did."""

    case: Int[AnyArray, "*runs"]
    lam: Float[AnyArray, "*runs"]
    nu: Float[AnyArray, "*runs m"]
    asked: Float[AnyArray, "*runs m"]
    """c: the asked decrease of each constraint."""
    predicted: Float[AnyArray, "*runs m"]
    """The change of each constraint by the linear model, for the accepted step."""
    actual: Float[AnyArray, "*runs m"]
    gain: Float[AnyArray, "*runs"]
    """The decrease of the loss."""
    divergence: Float[AnyArray, "*runs"]
    exponent: Int[AnyArray, "*runs"]
    accepted: Bool[AnyArray, "*runs"]
    residual: Float[AnyArray, "*runs"]
    """The largest relative residual of the linear solves."""
    signal: Float[AnyArray, "*runs m"]
    """Share of the predicted change of each constraint that is not noise. NaN if it was not measured."""


@runtime_checkable
class Step(Protocol):
    """A step rule. Its state is a pytree that is passed from step to step."""

    def init(self, theta: Vector) -> PyTree:
        """The state before the first step."""
        ...

    def take(self, problem: Problem, region: TrustRegion, state: PyTree) -> tuple[Vector, PyTree, StepReport]:
        """The point after the step, the state for the next one, and a report."""
        ...


def line_search_report(
    found: LineSearchResult,
    start: Evaluation,
    *,
    case: Int[Array, ""],
    lam: Float[Array, ""],
    nu: Float[Array, " m"],
    asked: Float[Array, " m"],
    predicted: Float[Array, " m"],
    residual: Float[Array, ""],
    signal: Float[Array, " m"],
) -> StepReport:
    """The report of a step that ends with a line search."""
    return StepReport(
        case=case,
        lam=lam,
        nu=nu,
        asked=asked,
        predicted=predicted,
        actual=found.at.constraints - start.constraints,
        gain=start.loss - found.at.loss,
        divergence=found.at.divergence,
        exponent=found.exponent,
        accepted=found.accepted,
        residual=residual,
        signal=signal,
    )
