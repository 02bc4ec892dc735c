"""Time-outs, for tasks in which a time-out is a failure. A policy that stands still violates nothing.

As a constraint: the share of episodes that time out is bounded, in addition to the algorithm's own constraints. Its
signal is 1 in the step in which the time limit ends an episode, and its critic predicts the probability of a time-out.

As a waiver, for algorithms with a penalty: the more episodes time out, the less costs are charged for. So a policy that
cannot reach its goal learns to do so first.
"""

from dataclasses import dataclass, replace

import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.surrogates.evidence import Constraint, Evidence
from ascpo.surrogates.weights import Weights

_FEW, _MANY = 0.01, 0.1
"""Shares of episodes that time out. Below the first nothing is waived, and above the second the whole waiver."""


def timeout_ramp(timeout_rate: Float[Array, ""], few: float, many: float) -> Float[Array, ""]:
    """0 up to a rate of `few`, 1 from `many` on, and linear in between."""
    return jnp.clip((timeout_rate - few) / (many - few), 0.0, 1.0)


def charged_share(timeout_rate: Float[Array, ""], waiver: float) -> Float[Array, ""]:
    """The share of the penalty that is charged, which is what is not waived: from 1 − waiver to 1."""
    return 1.0 - waiver * timeout_ramp(timeout_rate, _FEW, _MANY)


@dataclass(frozen=True)
class WithTimeouts:
    """An algorithm's constraints, followed by that of the time-outs: X = Σ ξ·A      c = Pr(time-out) − allowed."""

    constraint: Constraint
    allowed: float

    def surrogate(self, evidence: Evidence, weights: Weights) -> Float[Array, " m_and_1"]:
        own = self.constraint.surrogate(without_timeouts(evidence), weights)
        # Replayed scenes were chosen for their violations of limits, and say nothing about time-outs.
        step_weights = evidence.step_weights
        fresh = weights if step_weights is None else replace(weights, scale=step_weights.reward)
        return jnp.append(own, evidence.per_episode(fresh.times(evidence.cost_advantage[..., -1:])))

    def offset(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m_and_1"]:
        own = self.constraint.offset(without_timeouts(evidence), limits)
        return jnp.append(own, evidence.episodes.timeout_rate - self.allowed)

    def relative_excess(self, evidence: Evidence, limits: Float[Array, " m"]) -> Float[Array, " m_and_1"]:
        own = self.constraint.relative_excess(without_timeouts(evidence), limits)
        return jnp.append(own, evidence.episodes.timeout_rate / self.allowed - 1.0)


def without_timeouts(evidence: Evidence) -> Evidence:
    """The evidence without its last signal, the time-outs."""
    return replace(
        evidence,
        cost_advantage=evidence.cost_advantage[..., :-1],
        cost_td_error=evidence.cost_td_error[..., :-1],
        cost_to_go=None if evidence.cost_to_go is None else evidence.cost_to_go[..., :-1],
        cost_signal=None if evidence.cost_signal is None else evidence.cost_signal[..., :-1],
    )
