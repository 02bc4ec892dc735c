"""Layouts in which an obstacle is in the robot's way to the goal."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool

from ascpo.guard.geometry import distance_to_segment
from ascpo.guard.layout import Layout, Rules


def obstructed(rules: Rules, layouts: Layout) -> Bool[np.ndarray, " env"]:
    """Whether the straight line from the robot to the goal, seen from above, meets an obstacle."""
    radii = np.array([o.kind.radius for o in rules.suite.obstacles for _ in range(o.count)])
    robot, goal, obstacles = map(jnp.asarray, (layouts.robot, layouts.goal, layouts.obstacles))
    distances = jax.vmap(distance_to_segment)(obstacles[..., :2], robot, goal[:, :2])
    return np.asarray((distances < radii).any(axis=-1))
