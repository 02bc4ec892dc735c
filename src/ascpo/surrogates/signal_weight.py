"""The weight of a demand whose gradient is noisy.

On average, a step of length f along a gradient with signal s lowers the constraint by f·s times the predicted change.
The noise in it moves the policy at random, which does harm that grows with f². So the best f is proportional to s.

    asked = fraction · s / (s + s₀)

is proportional to s for a weak signal, and tends to the whole fraction for a strong one. At s = s₀ it is half of it.
"""

from jaxtyping import Array, Float


def signal_weight(signal: Float[Array, " m"] | None, half: float) -> Float[Array, " m"] | float:
    """s / (s + s₀): the part of its demand that each constraint keeps. With s₀ = 0 it keeps all."""
    if not half:
        return 1.0
    if signal is None:
        raise ValueError("Steps by signal need a measured one: let trust_region.signal_every be above 0.")
    return signal / (signal + half)
