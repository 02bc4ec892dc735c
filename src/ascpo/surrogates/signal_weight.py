"""How much of a demand a noisy gradient is worth.

A step of length f along a gradient of signal s lowers the constraint by f·s times what it predicts, on average. What is
noise in it does harm that grows with f²: it moves the policy without aim. The best f is then proportional to s.

    asked = fraction · s / (s + s₀)

is proportional to s where there is little signal, and all of the fraction where there is much; s₀ asks for half.
"""

from jaxtyping import Array, Float


def signal_weight(signal: Float[Array, " m"] | None, half: float) -> Float[Array, " m"] | float:
    """s / (s + s₀): the part of its demand that each constraint keeps. s₀ = 0 keeps all, whatever the signal."""
    if not half:
        return 1.0
    if signal is None:
        raise ValueError("Steps by signal need a measured one: let trust_region.signal_every be above 0.")
    return signal / (signal + half)
