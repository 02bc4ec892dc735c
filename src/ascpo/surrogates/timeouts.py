"""Time-outs as a constraint of their own, for tasks in which a time-out is a failure.

A policy that stands still violates nothing. So the share of episodes that the time limit ends is bounded beside what
an algorithm bounds, by the same step: its signal is 1 in the step that the time limit ends, and its critic predicts
the probability of a time-out.
"""

from dataclasses import dataclass, replace

import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.surrogates.evidence import Constraint, Evidence
from ascpo.surrogates.weights import Weights


@dataclass(frozen=True)
class WithTimeouts:
    """An algorithm's constraints, and after them X = Σ ξ·A      c = Pr(time-out) − allowed."""

    constraint: Constraint
    allowed: float

    def surrogate(self, evidence: Evidence, weights: Weights) -> Float[Array, " m_and_1"]:
        own = self.constraint.surrogate(without_timeouts(evidence), weights)
        return jnp.append(own, evidence.per_episode(weights.times(evidence.cost_advantage[..., -1:])))

    def offset(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m_and_1"]:
        own = self.constraint.offset(without_timeouts(evidence), limits)
        return jnp.append(own, evidence.episodes.timeout_rate - self.allowed)

    def relative_excess(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m_and_1"]:
        own = self.constraint.relative_excess(without_timeouts(evidence), limits)
        return jnp.append(own, evidence.episodes.timeout_rate / self.allowed - 1.0)


def without_timeouts(evidence: Evidence) -> Evidence:
    """The evidence of the costs alone. Time-outs are the last of its signals."""
    return replace(
        evidence,
        cost_advantage=evidence.cost_advantage[..., :-1],
        cost_td_error=evidence.cost_td_error[..., :-1],
        cost_to_go=None if evidence.cost_to_go is None else evidence.cost_to_go[..., :-1],
        cost_signal=None if evidence.cost_signal is None else evidence.cost_signal[..., :-1],
    )
