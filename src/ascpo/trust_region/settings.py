"""Settings of a trust region. They are read without JAX."""

from dataclasses import dataclass
from typing import Annotated

from ascpo.ranges import Iterations, NonNegative, Positive, Probability, Range


@dataclass(frozen=True)
class TrustRegion:
    """How large a step may be, and how it is computed."""

    delta: Positive = 0.02
    """Radius of the trust region: the largest mean KL divergence of a step, in nats."""
    damping: NonNegative = 0.01
    """Number that is added to the diagonal of the Fisher matrix."""
    cg_iterations: Iterations = 20
    """Largest number of iterations of conjugate gradients."""
    fisher_stride: Annotated[int, Range(at_least=1, at_most=10**7)] = 5
    """The Fisher matrix is estimated from every n-th step of the rollout; this is n."""
    backtracking: Probability = 0.8
    """Factor by which the line search shortens a step."""
    backtracks: Iterations = 100
    """Number of times that the line search tries before it gives the step up."""
    tolerance: NonNegative = 0.001
    """Rise of a constraint that is to be held, as a part of what the region could lower it by, up to which the line
    search does not shorten a step."""
    signal_every: Annotated[int, Range(at_least=0, at_most=10**6)] = 10
    """Number of epochs from one measurement of the cost gradients' signal (`CostSignal`) to the next. A policy's
    step that measures it takes almost half as long again. 0 measures nothing."""
