"""Ghosts: regions that drift towards the robot, stop at a distance, and push each other apart.

Per physics substep, for ghost i at g and the robot at x, with v metres a substep:

    push = Σ v (g - gⱼ) / |g - gⱼ|     over ghosts j nearer than two radii
    g ← g + push - v g / |g|            if |g| > r₀ (too far out: back towards the origin)
    g ← g + push                        if |x - g| < r₁ (near enough)
    g ← g + push + v (x - g) / |x - g|  else

In the air the approach and the push are spatial, the way back is horizontal, and heights stay in the range where balls
are placed.
"""

from typing import TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ascpo.guard.kinds import Kind

SPEED = 1e-4
"""v: metres per substep, which does not depend on the robot's timestep."""
LEASH = 2.5
"""r₀: metres from the origin."""
STANDOFF = 1.5
"""r₁: metres from the robot."""
AIR = (0.5, 1.5)
"""Heights at which goals and regions of a three-dimensional world are placed."""
TINY = 1e-6
"""The smallest divisor."""

Places: TypeAlias = list[Float[Array, " n"]]
"""The coordinates of all ghosts, one array for each, so that a substep is one loop per coordinate or distance."""


def drift(ghosts: Float[Array, "n 3"], path: Float[Array, "substeps 3"], kind: Kind) -> Float[Array, "n 3"]:
    """The ghosts after the substeps, with the robot at the positions of `path` in turn."""
    axes, substeps = (3 if kind.spatial else 2), len(path)
    g = [ghosts[:, axis] for axis in range(axes)]
    x = [path[:, axis] for axis in range(axes)]

    def apart(g: Places) -> Places:
        return jax.lax.fori_loop(0, substeps, lambda k, g: _substep(g, [c[k] for c in x], None), g)

    def pushing(g: Places) -> Places:
        return jax.lax.fori_loop(0, substeps, lambda k, g: _substep(g, [c[k] for c in x], kind), g)

    # Pushes take most of the time. Without pushes, both versions of the law give the same positions, bit for bit.
    if len(ghosts) == 1:
        g = apart(g)
    else:
        g = jax.lax.cond(_in_any_environment(_crowded(g, kind, substeps)), pushing, apart, g)
    return jnp.stack([*g, *(ghosts[:, axis] for axis in range(axes, 3))], axis=1)


def _crowded(g: Places, kind: Kind, substeps: int) -> Bool[Array, ""]:
    """Whether ghosts could push each other during the substeps. Two come nearer by two millimetres a step at most."""
    reach = 2 * kind.radius + 2.1 * substeps * SPEED
    # Scenes by hand may have any heights, which the first substep changes at once.
    near = _length(_between(_in_bounds(g))) < reach
    return jnp.any(near & ~jnp.eye(len(near), dtype=bool))


@jax.custom_batching.custom_vmap
def _in_any_environment(flag: Bool[Array, ""]) -> Bool[Array, ""]:
    """The flag itself. Under `vmap`, one flag for the batch: whether it is set for any environment.

    With a condition that differs between environments, both branches would be computed in every step.
    """
    return flag


@_in_any_environment.def_vmap
def _(size: int, batched: list[bool], flags: Bool[Array, "*batch env"]) -> tuple[Bool[Array, "*batch"], bool]:
    return _in_any_environment(jnp.any(flags, axis=0)), False


def _substep(g: Places, x: list[Float[Array, ""]], pushing: Kind | None) -> Places:
    """One substep of the law, with or without pushes. They are not needed if no two ghosts are near each other."""
    to_robot = [robot - c for c, robot in zip(g, x, strict=True)]
    far, gap = _length(g[:2]), _length(to_robot)
    home, chase = _over(far, when=far > LEASH), _over(gap, when=(far <= LEASH) & (gap >= STANDOFF))
    steps = [chase * ahead for ahead in to_robot]
    steps[:2] = [step - home * c for step, c in zip(steps, g[:2], strict=False)]
    if pushing:
        gaps = _length(_between(g))
        # With the division at the end, the compiler makes one loop of this. A division by infinity gives zero.
        near = 1 / jnp.maximum(jnp.where((gaps > 0) & (gaps < 2 * pushing.radius), gaps, jnp.inf), TINY)
        for other in range(len(g[0])):
            # The choice changes no number. Without it, how three ghosts are rounded depends on the size of the batch.
            pushes = jnp.where(near[other] > 0.0, near[other], 0.0)
            steps = [step + pushes * (c - c[other]) for step, c in zip(steps, g, strict=True)]
    return _in_bounds([c + SPEED * step for c, step in zip(g, steps, strict=True)])


def _in_bounds(g: Places) -> Places:
    return g[:2] + [jnp.clip(height, *AIR) for height in g[2:]]


def _between(g: Places) -> list[Float[Array, "n n"]]:
    """g - gⱼ, for each j a row."""
    return [c - c[:, None] for c in g]


def _length(v: list[Float[Array, "*many"]]) -> Float[Array, "*many"]:
    return jnp.sqrt(sum((c * c for c in v[1:]), start=v[0] * v[0]))


def _over(length: Float[Array, " n"], when: Bool[Array, " n"]) -> Float[Array, " n"]:
    """1 / length where asked for, else 0."""
    return jnp.where(when, 1 / jnp.maximum(length, TINY), 0.0)
