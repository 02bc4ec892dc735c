"""From an action to what the simulator is given. Works on NumPy and JAX arrays alike, with any leading axes.

Motors take the action, clipped to [-1, 1]. Rotors push their bodies along the hull's axis at the start of the step,
with a fourth of the weight plus 0.1 N times the action; above three metres the weight is no longer carried.
"""

from typing import Any

GRAVITY = 9.81
CEILING = 3.0
THRUST = 0.1


def thrust(action: Any, axis: Any, height: Any, mass: float) -> Any:
    """World-frame forces `[..., rotor, 3]` of the rotors: `axis` is the hull's, `[..., 3]`; `height` its height."""
    hover = (height <= CEILING) * (mass * GRAVITY / action.shape[-1])
    return axis[..., None, :] * (hover[..., None] + THRUST * action.clip(-1, 1))[..., None]
