"""WRONG bounds, as the paper prints them. Use `bounds`; these exist so that the tests can show where they fail.

Each differs from its namesake in `bounds` only by the error that its docstring names. KL is capped at 2 as there, which
can only help the printed forms.
"""

import numpy as np
from jaxtyping import Float

from ascpo.theory import bounds
from ascpo.theory.difference import first_order_difference, mean_advantages, total_variation
from ascpo.theory.moments import advantages, mean, visitation
from ascpo.theory.tabular import Policy, TabularMDP


def value_difference_bound(mdp: TabularMDP, old: Policy, new: Policy) -> Float[np.ndarray, "h s"]:
    """WRONG: |Lʰ| + ε h(1−h) KL. The sign: h(1−h) is never positive, the errors add up to h(h−1)."""
    return np.abs(first_order_difference(mdp, old, new)) + _remainder(mdp, old, new)[:, None]


def advantage_change_bound(mdp: TabularMDP, old: Policy, new: Policy) -> Float[np.ndarray, "h s s"]:
    """WRONG: |Lʰ⁻¹(s') − Lʰ(s)| + ε h(1−h) KL, from l'Hôpital's rule on what is not 0/0. It is 2ε (h−1)² KL."""
    L = first_order_difference(mdp, old, new)
    change = np.abs(L[:-1, None, :] - L[1:, :, None])
    return np.concatenate([np.zeros_like(change[:1]), change]) + _remainder(mdp, old, new)[:, None, None]


def omega_change_bound(
    mdp: TabularMDP, old: Policy, new: Policy, K: Float[np.ndarray, "h s s"]
) -> Float[np.ndarray, "h s"]:
    """WRONG: |E_π[(ξ−1)A² + 2ξAK̄ + ξK̄²]|. A may be negative: the modulus must stand around each term.

    (Print leaves out the ξ of the last term, which is nothing where K̄ is the same for all s'.)
    """
    A, K = advantages(mdp, old), K[:, :, None, :]
    squared = mdp.expect(new, A**2) - mdp.expect(old, A**2)
    mixed = mdp.expect(new, 2.0 * A * K + K**2)
    return np.abs(squared + mixed)


def mean_bounds(mdp: TabularMDP, old: Policy, new: Policy) -> tuple[float, float]:
    """WRONG: ℰ(π) + Σ_t γᵗ E_{d_t}[Āⁿ] ∓ 2(n−1) max_s|Āⁿ| Σ_t E_{d_t}[TV]. At time t it must be Āⁿ⁻ᵗ."""
    Abar = mean_advantages(mdp, old, new)[-1]
    d = visitation(mdp, old)
    centre = mean(mdp, old) + float(mdp.gamma ** np.arange(mdp.horizon) @ d @ Abar)
    width = float(2.0 * (mdp.horizon - 1) * np.abs(Abar).max() * (d @ total_variation(old, new)).sum())
    return centre - width, centre + width


def variance_mean_bound(mdp: TabularMDP, old: Policy, new: Policy) -> float:
    """WRONG: E_μ[Vⁿ²] + max_s|η̄² + 2|Vⁿ|η̄| − (min{max{0, ℰˡ}, ℰᵘ})² with the printed η̄, which is too small."""
    eta = value_difference_bound(mdp, old, new)[-1]
    return bounds.variance_mean_from(mdp, old, eta, bounds.mean_bounds(mdp, old, new))


def _remainder(mdp: TabularMDP, old: Policy, new: Policy) -> Float[np.ndarray, " h"]:
    """ε h(1−h) KL, printed for the undiscounted case alone."""
    if mdp.gamma != 1.0:
        raise ValueError(f"gamma is {mdp.gamma}, but the paper prints h(1−h) for undiscounted costs. Take gamma=1.")
    h = np.arange(mdp.horizon + 1)
    return bounds.largest_advantage(mdp, old) * (h * (1.0 - h)) * bounds.largest_divergence(old, new)
