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
from jaxtyping import Array, Bool, Float

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
    axes, substeps = (3 if kind.spatial else 2), len(path)
    # Coordinates are kept apart, so that each substep is one loop over the ghosts per coordinate and nothing more.
    g = [ghosts[:, axis] for axis in range(axes)]
    x = [path[:, axis] for axis in range(axes)]
    # Pushes take most of the time and are rare: two ghosts come nearer by two millimetres a step at most.
    gaps = [_length([c - c[other] for c in g]) for other in range(len(ghosts))]
    reach = 2 * kind.radius + 2.1 * substeps * SPEED
    crowded = jnp.any(
        jnp.stack([jnp.where(jnp.arange(len(ghosts)) == i, reach, gap) for i, gap in enumerate(gaps)]) < reach
    )
    alone = jax.lax.fori_loop(0, substeps, lambda k, g: _substep(g, [c[k] for c in x], None), g)
    # This loop makes no turn at all while no ghost of the whole batch is crowded.
    pushed = jax.lax.fori_loop(0, jnp.where(crowded, substeps, 0), lambda k, g: _substep(g, [c[k] for c in x], kind), g)
    g = [jnp.where(crowded, with_push, without) for with_push, without in zip(pushed, alone, strict=True)]
    return jnp.stack([*g, *(ghosts[:, axis] for axis in range(axes, 3))], axis=1)


def _substep(g: list[Float[Array, " n"]], x: list[Float[Array, ""]], pushing: Kind | None) -> list[Float[Array, " n"]]:
    """One substep of the law, with pushes or, where no two ghosts are near each other, without."""
    to_robot = [robot - c for c, robot in zip(g, x, strict=True)]
    far, gap = _length(g[:2]), _length(to_robot)
    home, chase = _over(far, when=far > LEASH), _over(gap, when=(far <= LEASH) & (gap >= STANDOFF))
    steps = [chase * ahead for ahead in to_robot]
    steps[:2] = [step - home * c for step, c in zip(steps, g[:2], strict=False)]
    if pushing:
        for other in range(len(g[0])):
            away = [c - c[other] for c in g]
            gap = _length(away)
            near = _over(gap, when=(gap > 0) & (gap < 2 * pushing.radius))
            steps = [step + near * c for step, c in zip(steps, away, strict=True)]
    moved = [c + SPEED * step for c, step in zip(g, steps, strict=True)]
    return moved[:2] + [jnp.clip(height, *AIR) for height in moved[2:]]


def _length(v: list[Float[Array, " n"]]) -> Float[Array, " n"]:
    return jnp.sqrt(sum((c * c for c in v[1:]), start=v[0] * v[0]))


def _over(length: Float[Array, " n"], when: Bool[Array, " n"]) -> Float[Array, " n"]:
    """1 / length where asked for, else 0."""
    return jnp.where(when, 1 / jnp.maximum(length, TINY), 0.0)
