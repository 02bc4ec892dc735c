"""The law of the return, computed from every path. It does not use the recursions, so it can test them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ascpo.theory.tabular import Policy, TabularMDP

_DIGITS = 12
"""Digits of the largest cost to which equal returns agree, since sums in another order round differently."""


@dataclass(frozen=True, eq=False)
class Law:
    """The distribution of a random number with finitely many values."""

    values: Float[np.ndarray, " v"]
    """The values, ascending."""
    probabilities: Float[np.ndarray, " v"]
    """The probability of each."""

    @property
    def mean(self) -> float:
        return float(self.probabilities @ self.values)

    @property
    def second_moment(self) -> float:
        return float(self.probabilities @ self.values**2)

    @property
    def variance(self) -> float:
        return float(self.probabilities @ (self.values - self.mean) ** 2)

    def at_most(self, x: float) -> float:
        """Pr(𝒟 ≤ x), up to rounding: a value within a relative 1e-9 of x counts as x."""
        slack = 1e-9 * np.max(np.abs(self.values))
        return float(self.probabilities[self.values <= x + slack].sum())


def law_of_return(mdp: TabularMDP, pi: Policy) -> Law:
    """The law of 𝒟 = Σ_t γᵗ D_t. Equal returns in a state are merged; if none are equal there are (|S||A|)ⁿ."""
    weights = mdp.transitions(pi)
    unit = np.max(np.abs(mdp.D)) or 1.0
    state = np.flatnonzero(mdp.mu)
    probability, total = mdp.mu[state], np.zeros(len(state))
    for t in range(mdp.horizon):
        row, action, successor = np.nonzero(weights[state])
        step = state[row], action, successor
        total = total[row] + mdp.gamma**t * mdp.D[step]
        state, total, probability = _merge(successor, total, probability[row] * weights[step], unit)
    _, total, probability = _merge(np.zeros_like(state), total, probability, unit)
    return Law(total, probability)


def _merge(
    state: Int[np.ndarray, " paths"],
    total: Float[np.ndarray, " paths"],
    probability: Float[np.ndarray, " paths"],
    unit: float,
) -> tuple[Int[np.ndarray, " merged"], Float[np.ndarray, " merged"], Float[np.ndarray, " merged"]]:
    """Merge paths with the same state and the same total, and add their probabilities."""
    digits = np.round(total / unit, _DIGITS)
    order = np.lexsort((digits, state))
    state, total, digits, probability = state[order], total[order], digits[order], probability[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(state) != 0) | (np.diff(digits) != 0)
    return state[new], total[new], np.add.reduceat(probability, np.flatnonzero(new))
