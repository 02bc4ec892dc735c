"""Bounds on the change of the return's mean and variance with the policy: the paper's bounds, corrected.

All are at the candidate π' = new, from quantities of π = old and of the change. n steps, h of them to go, and

    ε  = max_{h, s, a} |E_{s'} Aʰ(s, a, s')|      ε̄ = max_{h, s} |Āʰ(s)|
    α  = max_s TV(s)                              KL = min{2, max_s KL(s)},  so that α² ≤ ½ KL

The proofs rest on two facts. After t steps the two policies' states differ by at most tα in total variation; and
|Āʰ| ≤ 2αε. So at time t the two policies' means of Ā differ by at most 2 · 2αε · tα ≤ 2ε KL t, and these errors add up:

    Σ_{t<h} γᵗ · 2ε KL t = 2ε KL S_h,     S_h = Σ_{t<h} t γᵗ,     which is h(h−1)/2 at γ = 1.

The sums are finite, so γ = 1 needs no limit. The paper's printed forms are in `printed`.
"""

import numpy as np
from jaxtyping import Float

from ascpo.theory.difference import divergence, first_order_difference, mean_advantages, total_variation
from ascpo.theory.moments import advantages, mean, mean_variance, omega, values, visitation
from ascpo.theory.tabular import Policy, TabularMDP


def largest_advantage(mdp: TabularMDP, pi: Policy) -> float:
    """ε = max_{h, s, a} |E_{s'} Aʰ(s, a, s')|."""
    return float(np.abs((mdp.P * advantages(mdp, pi)).sum(axis=-1)).max())


def largest_divergence(old: Policy, new: Policy) -> float:
    """KL = min{2, max_s KL(s)}. Total variation is at most 1, so values above 2 are never needed."""
    return float(min(2.0, divergence(old, new).max()))


def drift(mdp: TabularMDP) -> Float[np.ndarray, " h"]:
    """S_h = Σ_{t<h} t γᵗ, for h = 0 .. n."""
    t = np.arange(mdp.horizon)
    return np.append(0.0, np.cumsum(t * mdp.gamma**t))


def value_difference_bound(mdp: TabularMDP, old: Policy, new: Policy) -> Float[np.ndarray, "h s"]:
    """|Vʰ_π' − Vʰ_π| ≤ η̄ʰ = |Lʰ| + 2ε KL S_h: at γ = 1, |Lʰ| + ε h(h−1) KL."""
    remainder = 2.0 * largest_advantage(mdp, old) * largest_divergence(old, new) * drift(mdp)
    return np.abs(first_order_difference(mdp, old, new)) + remainder[:, None]


def advantage_change(mdp: TabularMDP, old: Policy, new: Policy) -> Float[np.ndarray, "h s s"]:
    """Kʰ(s, s') = Aʰ_π' − Aʰ_π = γηʰ⁻¹(s') − ηʰ(s), for any action. Exact."""
    return _against_the_next(values(mdp, new) - values(mdp, old), mdp.gamma)


def advantage_change_bound(mdp: TabularMDP, old: Policy, new: Policy) -> Float[np.ndarray, "h s s"]:
    """|Kʰ(s, s')| ≤ K̄ʰ = |γLʰ⁻¹(s') − Lʰ(s)| + 2ε KL (γS_{h−1} + S_h): at γ = 1, |·| + 2ε (h−1)² KL."""
    S = drift(mdp)
    both = S + mdp.gamma * np.append(0.0, S[:-1])
    remainder = 2.0 * largest_advantage(mdp, old) * largest_divergence(old, new) * both
    L = first_order_difference(mdp, old, new)
    return np.abs(_against_the_next(L, mdp.gamma)) + remainder[:, None, None]


def omega_change_bound(
    mdp: TabularMDP, old: Policy, new: Policy, K: Float[np.ndarray, "h s s"]
) -> Float[np.ndarray, "h s"]:
    """|ωʰ_π' − ωʰ_π| ≤ |E_π[(ξ−1)A²]| + 2E_π[ξ|A|K̄] + E_π'[K̄²], with ξ = π'/π and any K̄ ≥ |K|."""
    A, K = advantages(mdp, old), K[:, :, None, :]
    squared = mdp.expect(new, A**2) - mdp.expect(old, A**2)
    mixed = mdp.expect(new, 2.0 * np.abs(A) * K + K**2)
    return np.abs(squared) + mixed


def mean_variance_change_bound(mdp: TabularMDP, old: Policy, new: Policy) -> float:
    """|MV_π' − MV_π| ≤ Σ_h γ²⁽ⁿ⁻ʰ⁾ (max_s ω̄ʰ(s) + min{2, 2(n−h)α} max_s ωʰ(s)).

    ω̄ʰ bounds the change of ωʰ, and the rest the effect of other states. Zero for π' = π.
    """
    K = advantage_change_bound(mdp, old, new)
    steps_before = mdp.horizon - np.arange(mdp.horizon + 1)
    alpha = total_variation(old, new).max()
    of_states = np.minimum(2.0, 2.0 * steps_before * alpha) * omega(mdp, old).max(axis=1)
    of_omega = omega_change_bound(mdp, old, new, K).max(axis=1)
    # Row 0 of both is zero.
    return float(mdp.gamma ** (2 * steps_before) @ (of_omega + of_states))


def mean_bounds(mdp: TabularMDP, old: Policy, new: Policy) -> tuple[float, float]:
    """(ℰˡ, ℰᵘ) around ℰ(π'):  ℰ(π) + Σ_t γᵗ E_{d_t}[Āⁿ⁻ᵗ] ∓ 2(n−1) ε̄ Σ_t E_{d_t}[TV],  d_t the states of π."""
    centre = mean(mdp, old) + float(mdp.mu @ first_order_difference(mdp, old, new)[-1])
    largest = np.abs(mean_advantages(mdp, old, new)).max()
    distance = (visitation(mdp, old) @ total_variation(old, new)).sum()
    width = float(2.0 * (mdp.horizon - 1) * largest * distance)
    return centre - width, centre + width


def variance_mean_bound(mdp: TabularMDP, old: Policy, new: Policy) -> float:
    """VM_π' ≤ E_μ[Vⁿ²] + max_s(η̄² + 2|Vⁿ|η̄) − (min{max{0, ℰˡ}, ℰᵘ})². Exact for π' = π."""
    return variance_mean_from(mdp, old, value_difference_bound(mdp, old, new)[-1], mean_bounds(mdp, old, new))


def variance_mean_from(
    mdp: TabularMDP, old: Policy, eta: Float[np.ndarray, " s"], around: tuple[float, float]
) -> float:
    """E_μ[Vⁿ²] + max_s|η² + 2|Vⁿ|η| − (min{max{0, ℰˡ}, ℰᵘ})² for given η and (ℰˡ, ℰᵘ)."""
    V = values(mdp, old)[-1]
    lower, upper = around
    # The number in [ℰˡ, ℰᵘ] closest to zero has the smallest square.
    least = min(max(0.0, lower), upper)
    return float(mdp.mu @ V**2 + np.abs(eta**2 + 2.0 * np.abs(V) * eta).max()) - least**2


def constraint_bound(mdp: TabularMDP, old: Policy, new: Policy, k: float) -> float:
    """ℰ(π') + k𝒱(π') ≤ ℰᵘ + k(MV_π + the bound on its change + the bound on VM): the paper's constraint."""
    _, upper = mean_bounds(mdp, old, new)
    spread = mean_variance(mdp, old) + mean_variance_change_bound(mdp, old, new) + variance_mean_bound(mdp, old, new)
    return upper + k * spread


def _against_the_next(f: Float[np.ndarray, "h s"], gamma: float) -> Float[np.ndarray, "h s s"]:
    """γfʰ⁻¹(s') − fʰ(s); row 0 is zero."""
    change = gamma * f[:-1, None, :] - f[1:, :, None]
    return np.concatenate([np.zeros_like(change[:1]), change])
