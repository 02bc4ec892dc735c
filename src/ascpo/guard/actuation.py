"""Actuation: from an action to the simulator's controls and forces, for NumPy and JAX arrays with any leading axes.

Motors take the action, clipped to [-1, 1]. Rotors push their bodies along the hull's axis at the start of the step,
with a fourth of the weight plus 0.1 N times the action. Above three metres they no longer carry the weight.
"""

from collections.abc import Mapping

from jaxtyping import Float

from ascpo.guard.layout import AnyArray

GRAVITY = 9.81
CEILING = 3.0
THRUST = 0.1


def lift(action: AnyArray, sensors: AnyArray, at: Mapping[str, slice], mass: float) -> Float[AnyArray, "*env rotor 3"]:
    """The forces of `thrust`, with the slices of the sensor vector that hold the hull's attitude and position."""
    attitude, height = sensors[..., at["attitude"]], sensors[..., at["position"]][..., 2]
    w, x, y, z = (attitude[..., i] for i in range(4))
    stack = attitude.__array_namespace__().stack
    axis = stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=-1)
    return thrust(action, axis, height, mass)


def thrust(action: AnyArray, axis: AnyArray, height: AnyArray, mass: float) -> Float[AnyArray, "*env rotor 3"]:
    """World-frame forces of the rotors: `axis` is the hull's, `[..., 3]`; `height` its height."""
    hover = (height <= CEILING) * (mass * GRAVITY / action.shape[-1])
    return axis[..., None, :] * (hover[..., None] + THRUST * action.clip(-1, 1))[..., None]
