"""Ghosts: regions that drift towards the robot, stop at a distance, and push each other apart.

Per physics substep, for ghost i at g and the robot at x, with v metres a substep:

    push = Σ v (g - gⱼ) / |g - gⱼ|     over ghosts j nearer than two radii
    g ← g + push - v g / |g|            if |g| > r₀ (too far out: back towards the origin)
    g ← g + push                        if |x - g| < r₁ (near enough)
    g ← g + push + v (x - g) / |x - g|  else

In the air the approach and the push are spatial, the way back is horizontal, and the height stays where
balls are placed.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.guard.geometry import norm
from ascpo.guard.kinds import Kind

SPEED = 1e-4
"""v: metres per substep, whatever the robot's clock."""
LEASH = 2.5
"""r₀: metres from the origin."""
STANDOFF = 1.5
"""r₁: metres from the robot."""
AIR = (0.5, 1.5)
"""Heights at which goals and regions of a three-dimensional world are placed."""
TINY = 1e-6
"""Nothing is divided by less."""


def drift(ghosts: Float[Array, "n 3"], path: Float[Array, "substeps 3"], kind: Kind) -> Float[Array, "n 3"]:
    """The ghosts after the substeps, which see the robot at the places of `path`, one after another."""
    sees = jnp.array([1.0, 1.0, 1.0 if kind.spatial else 0.0])
    level = jnp.array([1.0, 1.0, 0.0])

    def substep(g: Float[Array, "n 3"], x: Float[Array, "3"]) -> tuple[Float[Array, "n 3"], None]:
        push = jnp.zeros_like(g)
        for other in range(len(g)):
            away = (g - g[other]) * sees
            gap = norm(away)
            push += jnp.where((gap > 0) & (gap < 2 * kind.radius), 1 / jnp.maximum(gap, TINY), 0.0)[:, None] * away
        out, to_robot = g * level, (x - g) * sees
        far, gap = norm(out), norm(to_robot)
        home = jnp.where(far > LEASH, -1 / jnp.maximum(far, TINY), 0.0)[:, None] * out
        chase = jnp.where((far > LEASH) | (gap < STANDOFF), 0.0, 1 / jnp.maximum(gap, TINY))[:, None] * to_robot
        moved = g + SPEED * (push + home + chase)
        return jnp.clip(moved, jnp.array([-jnp.inf, -jnp.inf, low]), jnp.array([jnp.inf, jnp.inf, high])), None

    low, high = AIR if kind.spatial else (-jnp.inf, jnp.inf)
    return jax.lax.scan(substep, ghosts, path)[0]
