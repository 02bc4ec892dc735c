"""A tabular MDP with a cost: small enough that every expectation is a finite sum.

n steps t = 0 .. n−1,  s₀ ~ μ,  a_t ~ π(·|s_t),  s_{t+1} ~ P(·|s_t, a_t),  cost D(s_t, a_t, s_{t+1}),
and the return  𝒟 = Σ_t γᵗ D_t.  A policy is an array π[s, a], the same at every step.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

Policy = Float[np.ndarray, "s a"]
"""π[s, a]: the probability of action a in state s."""
_ROUNDING = 1e-9
"""How far from 1 the sum of a distribution may be."""


@dataclass(frozen=True, eq=False)
class TabularMDP:
    """Dynamics, cost, start and length of an episode. The arrays are copied and read-only."""

    P: Float[np.ndarray, "s a s"]
    """P[s, a, s']: the probability of s' after action a in s."""
    D: Float[np.ndarray, "s a s"]
    """D[s, a, s']: the cost of that transition, of any sign."""
    mu: Float[np.ndarray, " s"]
    """μ[s]: the probability that an episode starts in s."""
    horizon: int
    """n: the number of steps of an episode."""
    gamma: float = 1.0
    """γ: the discount of the cost, in (0, 1]."""

    def __post_init__(self) -> None:
        for name in ("P", "D", "mu"):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if self.P.ndim != 3 or self.P.shape[0] != self.P.shape[2]:
            raise ValueError(f"P has shape {self.P.shape}. Give it the axes (state, action, next state).")
        if self.D.shape != self.P.shape:
            raise ValueError(f"D has shape {self.D.shape}, P has {self.P.shape}. Give every transition one cost.")
        if self.mu.shape != self.P.shape[:1]:
            raise ValueError(f"mu has shape {self.mu.shape}. Give each of the {self.states} states one probability.")
        if not np.all(np.isfinite(self.D)):
            raise ValueError("D holds costs that are not finite. Give impossible transitions P = 0, and any cost.")
        _check_distributions(self.P, "P[s, a]")
        _check_distributions(self.mu, "mu")
        if self.horizon < 1:
            raise ValueError(f"The horizon is {self.horizon}. An episode needs at least one step.")
        if not 0.0 < self.gamma <= 1.0:
            raise ValueError(f"gamma is {self.gamma}. Take one in (0, 1]; 1 is the paper's undiscounted case.")

    @property
    def states(self) -> int:
        return self.P.shape[0]

    @property
    def actions(self) -> int:
        return self.P.shape[1]

    def starting_in(self, state: int) -> "TabularMDP":
        """The same MDP, all of whose episodes start in this state."""
        return replace(self, mu=np.eye(self.states)[state])

    def transitions(self, pi: Policy) -> Float[np.ndarray, "s a s"]:
        """π(a|s) P(s'|s, a): the joint law of action and next state. Every use of a policy passes here."""
        if pi.shape != self.P.shape[:2]:
            raise ValueError(f"The policy has shape {pi.shape}. This MDP needs (state, action) = {self.P.shape[:2]}.")
        _check_distributions(pi, "pi[s]")
        return pi[:, :, None] * self.P

    def chain(self, pi: Policy) -> Float[np.ndarray, "s s"]:
        """P_π(s'|s) = Σ_a π(a|s) P(s'|s, a)."""
        return self.transitions(pi).sum(axis=1)

    def expect(self, pi: Policy, f: Float[np.ndarray, "*h s a s"]) -> Float[np.ndarray, "*h s"]:
        """E[f(s, a, s')] for a ~ π(·|s), s' ~ P(·|s, a); for each h, where f has several."""
        return (self.transitions(pi) * f).sum(axis=(-2, -1))


def _check_distributions(p: Float[np.ndarray, "*axes"], name: str) -> None:
    """The last axis holds probabilities; a NaN fails too."""
    if not (np.all(p >= 0.0) and np.all(np.abs(p.sum(axis=-1) - 1.0) <= _ROUNDING)):
        raise ValueError(f"{name} is not a distribution. Make it non-negative, and divide it by its sum.")
