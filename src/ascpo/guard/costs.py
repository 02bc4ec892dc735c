"""Costs: the robot's depth in a forbidden region, or a contact with a pillar.

regions:  c = max(0, R - D),  D the robot's distance to the centre of the nearest one
pillars:  c = 1 if any part of the robot touches one, else 0

A cost of zero does not say how near the robot is to a violation; a margin does. It is a signed length, negative in safe
states:

regions:  R - D
pillars:  minus the distance from the robot to the surface of the nearest one, as seen from above
"""

from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.guard.geometry import distance_to_segment
from ascpo.guard.kinds import Kind
from ascpo.guard.robots import Robot

Overlap = Literal["closest", "sum"]
"""The cost of several regions at once: that of the deepest one, or the sum."""
DIVERGED = 1.0
"""Every cost of a step in which the simulation diverged, since such a state is never safe."""


def clearance(
    robot: Robot, frames: Float[Array, "frames 3"], points: Float[Array, "n 3"], *, spatial: bool
) -> Float[Array, " n"]:
    """D: the distance from the robot's shape to each point; negative inside the shape."""
    axes = 3 if spatial else 2
    where = {name: frames[i, :axes] for i, name in enumerate(robot.frames)}
    distances = [
        distance_to_segment(points[:, :axes], where[part.start], where[part.end]) - part.radius for part in robot.parts
    ]
    return jnp.min(jnp.stack(distances), axis=0)


def region_cost(
    kind: Kind, robot: Robot, frames: Float[Array, "frames 3"], centres: Float[Array, "n 3"], overlap: Overlap
) -> Float[Array, ""]:
    """c of the regions of one kind."""
    depth = jnp.maximum(kind.radius - clearance(robot, frames, centres, spatial=kind.spatial), 0.0)
    return jnp.max(depth) if overlap == "closest" else jnp.sum(depth)


def margin(
    kind: Kind, robot: Robot, frames: Float[Array, "frames 3"], centres: Float[Array, "n 3"]
) -> Float[Array, ""]:
    """How far the robot is inside the nearest obstacle of one kind; negative outside."""
    return jnp.max(kind.radius - clearance(robot, frames, centres, spatial=kind.spatial))


def contact_cost(contacts: Float[Array, " pillars"]) -> Float[Array, ""]:
    """c of the pillars, from the number of contact points with each."""
    return jnp.where(jnp.any(contacts > 0), 1.0, 0.0)
