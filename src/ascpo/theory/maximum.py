"""The maximum MDP of a tabular MDP, whose costs add up to the largest cost of the episode.

    D = max(C − M, 0)    M' = M + D    M₀ = 0    ⇒    Σ_t D_t = max_t C_t

M takes the levels 0 and the values of C, so the states (s, M) are finitely many. arXiv:2306.12594.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ascpo.theory.tabular import Policy, TabularMDP


@dataclass(frozen=True, eq=False)
class MaximumMDP:
    """An MDP over pairs ŝ = (s, M), and the meaning of its states."""

    mdp: TabularMDP
    """Dynamics and increments D of the pairs."""
    state: Int[np.ndarray, " augmented"]
    """s of each pair."""
    maximum: Float[np.ndarray, " augmented"]
    """M of each pair."""

    def lift(self, pi: Policy) -> Float[np.ndarray, "augmented a"]:
        """A policy of the original states as a policy of the pairs, which ignores M."""
        return pi[self.state]


def maximum_mdp(original: TabularMDP) -> MaximumMDP:
    """The maximum MDP over pairs of every state and every level. `original.D` is the cost C."""
    C, possible = original.D, original.P > 0.0
    if original.gamma != 1.0:
        raise ValueError(f"gamma is {original.gamma}, but only an undiscounted sum is a maximum. Use gamma=1.")
    if np.any(C[possible] < 0.0):
        raise ValueError("Some costs are negative, but M starts at 0. Shift costs and limit by the smallest cost.")
    levels = np.unique(np.append(C[possible], 0.0))
    ranks = np.arange(len(levels))
    # The rank of C among the levels. Impossible transitions keep M.
    rank_of_C = np.where(possible, np.searchsorted(levels, np.where(possible, C, 0.0)), 0)
    rank_after = np.maximum(ranks[:, None, None, None], rank_of_C)  # [M, s, a, s']
    moves = rank_after[..., None] == ranks  # [M, s, a, s', M']
    P = np.einsum("ijk,mijkl->imjkl", original.P, moves.astype(np.float64))  # [s, M, a, s', M']
    increments = np.maximum(levels - levels[:, None], 0.0)  # [M, M']
    D = np.broadcast_to(increments[None, :, None, None, :], P.shape)
    pairs = original.states * len(levels)
    return MaximumMDP(
        mdp=TabularMDP(
            P=P.reshape(pairs, original.actions, pairs),
            D=D.reshape(pairs, original.actions, pairs),
            mu=np.outer(original.mu, ranks == 0).ravel(),
            horizon=original.horizon,
        ),
        state=np.repeat(np.arange(original.states), len(levels)),
        maximum=np.tile(levels, original.states),
    )
