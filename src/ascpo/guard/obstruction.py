"""Layouts in which an obstacle is in the robot's way to the goal."""

import numpy as np
from jaxtyping import Bool

from ascpo.guard.layout import Layout, Rules


def obstructed(rules: Rules, layouts: Layout) -> Bool[np.ndarray, " env"]:
    """Whether the straight line from the robot to the goal, seen from above, meets an obstacle."""
    radii = np.array([o.kind.radius for o in rules.suite.obstacles for _ in range(o.count)])
    robot, goal = np.asarray(layouts.robot)[:, None], np.asarray(layouts.goal)[:, None, :2]
    centres, way = np.asarray(layouts.obstacles)[..., :2], goal - robot
    along = np.sum((centres - robot) * way, axis=-1) / np.maximum(np.sum(way**2, axis=-1), 1e-12)
    nearest = robot + np.clip(along, 0.0, 1.0)[..., None] * way
    return (np.linalg.norm(centres - nearest, axis=-1) < radii).any(axis=-1)
