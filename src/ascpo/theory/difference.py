"""Two policies: the difference of their returns, and their distance.

    Āʰ(s) = E_{a ~ π', s'}[Aʰ_π(s, a, s')]                 the new policy's mean of the old policy's advantage
    Vʰ_π' − Vʰ_π = E_π'[Σ_{t<h} γᵗ Āʰ⁻ᵗ(s_t)]              exact, but along the new policy's states
    Lʰ           = E_π [Σ_{t<h} γᵗ Āʰ⁻ᵗ(s_t)]              an estimate from data of the old policy

Note Aʰ⁻ᵗ at time t: with a finite horizon the advantage depends on the number of remaining steps.
"""

import numpy as np
from jaxtyping import Float

from ascpo.theory.moments import accumulate, advantages
from ascpo.theory.tabular import Policy, TabularMDP


def mean_advantages(mdp: TabularMDP, old: Policy, new: Policy) -> Float[np.ndarray, "h s"]:
    """Āʰ(s)."""
    return mdp.expect(new, advantages(mdp, old))


def value_difference(mdp: TabularMDP, old: Policy, new: Policy) -> Float[np.ndarray, "h s"]:
    """ηʰ(s) = Vʰ_π'(s) − Vʰ_π(s), by the finite-horizon difference lemma."""
    return accumulate(mdp, new, mean_advantages(mdp, old, new), discount=mdp.gamma)


def first_order_difference(mdp: TabularMDP, old: Policy, new: Policy) -> Float[np.ndarray, "h s"]:
    """Lʰ(s): the same sum along the old policy's states. It agrees with ηʰ to first order in the change."""
    return accumulate(mdp, old, mean_advantages(mdp, old, new), discount=mdp.gamma)


def total_variation(old: Policy, new: Policy) -> Float[np.ndarray, " s"]:
    """TV(s) = ½ Σ_a |π'(a|s) − π(a|s)|."""
    return 0.5 * np.abs(new - old).sum(axis=1)


def divergence(old: Policy, new: Policy) -> Float[np.ndarray, " s"]:
    """KL(s) = Σ_a π'(a|s) log(π'(a|s) / π(a|s)), infinite if π' takes an action that π never takes.

    Pinsker: TV² ≤ ½ KL, in either direction of KL.
    """
    used = new > 0.0
    with np.errstate(divide="ignore"):
        terms = np.where(used, new * (np.log(np.where(used, new, 1.0)) - np.log(np.where(used, old, 1.0))), 0.0)
    # Rounding can make the sum of nearly equal policies negative.
    return np.maximum(terms.sum(axis=1), 0.0)
