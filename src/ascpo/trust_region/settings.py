"""Settings of a trust region. This module does not import JAX."""

from dataclasses import dataclass
from typing import Annotated

from ascpo.ranges import Iterations, NonNegative, Positive, Probability, Range


@dataclass(frozen=True)
class TrustRegion:
    """The size of a step, and how it is computed."""

    delta: Positive = 0.02
    """Radius of the trust region: the largest mean KL divergence of a step, in nats."""
    damping: NonNegative = 0.01
    """Damping: the number that is added to the diagonal of the Fisher matrix."""
    cg_iterations: Iterations = 20
    """Largest number of iterations of conjugate gradients."""
    fisher_stride: Annotated[int, Range(at_least=1, at_most=10**7)] = 5
    """Estimate the Fisher matrix from every n-th step of the rollout. This is n."""
    backtracking: Probability = 0.8
    """Factor by which the line search shortens a step."""
    backtracks: Iterations = 100
    """Largest number of trials of the line search. If all fail, the policy stays as it is."""
    tolerance: NonNegative = 0.001
    """Tolerance of the line search: how far a satisfied constraint may rise, as a part of the largest decrease that is
    possible within the region."""
    signal_every: Annotated[int, Range(at_least=0, at_most=10**6)] = 10
    """Number of epochs from one measurement of the cost gradients' signal (`CostSignal`) to the next. A measurement
    makes the policy's step of that epoch almost half as long again. 0 measures nothing."""
