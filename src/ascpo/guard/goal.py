"""The goal: its distance, and the reward for approaching it.

rₜ = clip(dₜ₋₁ - dₜ, -10, 10) + [dₜ ≤ R]
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ascpo.guard.geometry import norm

RADIUS = 0.5
"""R: the distance at which the goal counts as reached and the episode ends."""
HEIGHT = 0.26
"""Height of a goal on the ground. Only a three-valued compass senses it, since distances are in the plane."""


def distance(goal: Float[Array, "3"], tracked: Float[Array, "3"], *, spatial: bool) -> Float[Array, ""]:
    """d: from the tracked frame to the goal's centre, in the plane or in space."""
    axes = 3 if spatial else 2
    return norm(goal[:axes] - tracked[:axes])


def reward(before: Float[Array, ""], after: Float[Array, ""]) -> tuple[Float[Array, ""], Bool[Array, ""]]:
    """(dₜ₋₁, dₜ) → (rₜ, whether the goal was reached)."""
    reached = after <= RADIUS
    return jnp.clip(before - after, -10.0, 10.0) + reached, reached
