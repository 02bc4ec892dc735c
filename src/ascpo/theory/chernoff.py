"""An upper probability bound that depends on near misses, as Chernoff's does.

    Pr(𝒟 > w) ≤ E[φ(𝒟)]        φ(d) = min(e^{(d − w)/τ}, cap) for d > −h, and 0 below        τ > 0, cap ≥ 1, w ≥ −h

It holds because φ is at least 1 if 𝒟 > w, and never negative. Like the moments of `cantelli.py` it bounds a probability
by an expectation, so that a sum of signals over an episode estimates it. Unlike the probability itself, it also falls
when episodes without violations keep a larger distance. φ only grows with d, so the bound never rewards more certain
violations. As τ falls, with cap = 1, the bound tends to Pr(𝒟 ≥ w).

𝒟 is the largest signed cost of an episode: a negative number says how near it came.

Because φ only grows and is never negative, the sum of the weights of an episode's states is a bound too, by the union
bound: φ(𝒟) = maxₜ φ(Cₜ) ≤ Σ φ(Cₜ).
"""

import numpy as np
from jaxtyping import Float


def chernoff_weight(
    d: Float[np.ndarray, "*axes"], w: float, *, tau: float, cap: float, h: float
) -> Float[np.ndarray, "*axes"]:
    """φ(d)."""
    if not (tau > 0.0 and cap >= 1.0 and w >= -h):
        raise ValueError(f"tau={tau}, cap={cap}, w={w}, h={h}: the bound needs tau > 0, cap ≥ 1 and w ≥ −h.")
    return np.where(d > -h, np.minimum(np.exp(np.minimum((d - w) / tau, np.log(cap))), cap), 0.0)


def chernoff_bound(
    values: Float[np.ndarray, " n"],
    probabilities: Float[np.ndarray, " n"],
    w: float,
    *,
    tau: float,
    cap: float,
    h: float,
) -> float:
    """E[φ(𝒟)] of a 𝒟 with finitely many values."""
    return float(probabilities @ chernoff_weight(values, w, tau=tau, cap=cap, h=h))
