"""The confidence of a bound from mean and variance: Cantelli's one-sided inequality.

    Pr(𝒟 > ℰ + κ√𝒱) ≤ 1/(1 + κ²)        with κ = k√𝒱:    Pr(𝒟 > ℰ + k𝒱) ≤ 1/(1 + k²𝒱)

The second is Proposition 1 of the paper. Mean and variance have different units, so k alone guarantees nothing: a world
in millimetres needs another k than one in metres. κ has no unit.

ℰ + k𝒱 is not monotone: for 𝒟 ∈ {0, 1} with Pr(1) = p it is p + kp(1−p), which falls once p > ½(1 + 1/k). There, a
lower bound means a more certain violation. ℰ + kE[𝒟²] is never below it, so it has at least the same confidence, and
for 𝒟 ≥ 0 it only grows when 𝒟 does.
"""

import math

PAPER_K = 7.0
"""k of the paper's experiments."""


def variance_bound(mean: float, variance: float, k: float) -> float:
    """ℬ_k = ℰ + k𝒱."""
    return mean + k * variance


def deviation_bound(mean: float, variance: float, kappa: float) -> float:
    """ℰ + κ√𝒱."""
    return mean + kappa * math.sqrt(variance)


def moment_bound(mean: float, second_moment: float, k: float) -> float:
    """ℰ + kE[𝒟²] = ℬ_k + kℰ²: the monotone alternative, with at least the confidence of ℬ_k."""
    return mean + k * second_moment


def confidence_of_deviation(kappa: float) -> float:
    """p = κ²/(1 + κ²): a lower bound on Pr(𝒟 ≤ ℰ + κ√𝒱)."""
    _check_factor(kappa, "kappa")
    return kappa**2 / (1.0 + kappa**2)


def confidence_of_variance(variance: float, k: float) -> float:
    """p = 1 − 1/(1 + k²𝒱): a lower bound on Pr(𝒟 ≤ ℰ + k𝒱). With 𝒱 = 0 it is 1, although the formula gives 0."""
    _check_factor(k, "k")
    if variance < 0.0:
        raise ValueError(f"The variance is {variance}. Use at least 0.")
    return 1.0 if variance == 0.0 else confidence_of_deviation(k * math.sqrt(variance))


def kappa_for(confidence: float) -> float:
    """κ = √(p/(1 − p)): the factor of the standard deviation for a bound with confidence p."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"The confidence is {confidence}. Use one in (0, 1); 1 needs an infinite factor.")
    return math.sqrt(confidence / (1.0 - confidence))


def k_for(confidence: float, variance: float) -> float:
    """k = κ/√𝒱: the factor of the variance for a bound with confidence p."""
    if variance <= 0.0:
        raise ValueError(f"The variance is {variance}. Use a positive one; without variance any k is certain.")
    return kappa_for(confidence) / math.sqrt(variance)


def turning_point(k: float) -> float:
    """p = ½(1 + 1/k): the probability of a 0-or-1 cost from which on ℬ_k falls as it rises (never if k ≤ 1)."""
    if k <= 0.0:
        raise ValueError(f"k is {k}. Use a positive one.")
    return min(0.5 * (1.0 + 1.0 / k), 1.0)


def _check_factor(factor: float, name: str) -> None:
    if factor < 0.0:
        raise ValueError(f"{name} is {factor}. Below the mean, Cantelli guarantees nothing; use at least 0.")
