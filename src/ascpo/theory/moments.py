"""Mean and variance of the return, by recursion over the number h of remaining steps.

    V⁰ = 0    Vʰ = E_π[D + γ Vʰ⁻¹(s')]                     mean from each state
              Aʰ(s, a, s') = D + γ Vʰ⁻¹(s') − Vʰ(s)        advantage of one transition
              ωʰ(s) = Var_{a, s'}[D + γ Vʰ⁻¹(s')] = E_π[(Aʰ)²]
    X⁰ = 0    Xʰ = ωʰ + γ² P_π Xʰ⁻¹                        variance from each state

    ℰ = E_μ[Vⁿ]     𝒱 = MV + VM,   MV = E_μ[Xⁿ],   VM = Var_μ[Vⁿ]

Arrays over the remaining steps have n + 1 rows: row h belongs to h, and row 0 is zero.
"""

import numpy as np
from jaxtyping import Float

from ascpo.theory.tabular import Policy, TabularMDP


def values(mdp: TabularMDP, pi: Policy) -> Float[np.ndarray, "h s"]:
    """Vʰ(s): the expected return of h steps from s."""
    weights = mdp.transitions(pi)
    V = [np.zeros(mdp.states)]
    for _ in range(mdp.horizon):
        V.append((weights * (mdp.D + mdp.gamma * V[-1])).sum(axis=(1, 2)))
    return np.stack(V)


def advantages(mdp: TabularMDP, pi: Policy) -> Float[np.ndarray, "h s a s"]:
    """Aʰ(s, a, s') = D + γ Vʰ⁻¹(s') − Vʰ(s). Along an episode it is δ_t = Aⁿ⁻ᵗ(s_t, a_t, s_{t+1})."""
    V = values(mdp, pi)
    A = mdp.D + mdp.gamma * V[:-1, None, None, :] - V[1:, :, None, None]
    return np.concatenate([np.zeros_like(A[:1]), A])


def omega(mdp: TabularMDP, pi: Policy) -> Float[np.ndarray, "h s"]:
    """ωʰ(s) = Var_{a, s'}[D + γ Vʰ⁻¹(s')]: the variance that one step adds."""
    return mdp.expect(pi, advantages(mdp, pi) ** 2)


def variances(mdp: TabularMDP, pi: Policy) -> Float[np.ndarray, "h s"]:
    """Xʰ(s): the variance of the return of h steps from s."""
    return accumulate(mdp, pi, omega(mdp, pi), discount=mdp.gamma**2)


def accumulate(
    mdp: TabularMDP, pi: Policy, f: Float[np.ndarray, "h s"], *, discount: float
) -> Float[np.ndarray, "h s"]:
    """Fʰ(s) = E_π[Σ_{t<h} discountᵗ fʰ⁻ᵗ(s_t) | s₀ = s], from Fʰ = fʰ + discount · P_π Fʰ⁻¹."""
    P_pi = mdp.chain(pi)
    F = [np.zeros(mdp.states)]
    for h in range(1, len(f)):
        F.append(f[h] + discount * P_pi @ F[-1])
    return np.stack(F)


def visitation(mdp: TabularMDP, pi: Policy) -> Float[np.ndarray, "t s"]:
    """d_t(s) = Pr(s_t = s), t = 0 .. n−1. Their sum is the paper's unnormalised d̄."""
    P_pi = mdp.chain(pi)
    d = [mdp.mu]
    for _ in range(mdp.horizon - 1):
        d.append(d[-1] @ P_pi)
    return np.stack(d)


def mean(mdp: TabularMDP, pi: Policy) -> float:
    """ℰ = E_μ[Vⁿ(s₀)]."""
    return float(mdp.mu @ values(mdp, pi)[-1])


def mean_variance(mdp: TabularMDP, pi: Policy) -> float:
    """MV = E_μ[Xⁿ(s₀)]: the variance that the start does not explain."""
    return float(mdp.mu @ variances(mdp, pi)[-1])


def variance_mean(mdp: TabularMDP, pi: Policy) -> float:
    """VM = Var_μ[Vⁿ(s₀)]: the variance that the start explains."""
    V = values(mdp, pi)[-1]
    return float(mdp.mu @ (V - mdp.mu @ V) ** 2)


def variance(mdp: TabularMDP, pi: Policy) -> float:
    """𝒱 = MV + VM, the law of total variance."""
    return mean_variance(mdp, pi) + variance_mean(mdp, pi)


def second_moment(mdp: TabularMDP, pi: Policy) -> float:
    """E[𝒟²] = MV + E_μ[Vⁿ(s₀)²]."""
    return mean_variance(mdp, pi) + float(mdp.mu @ values(mdp, pi)[-1] ** 2)
