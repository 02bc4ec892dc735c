"""The poses of the robot and its surroundings in each step of an episode, in the frame of the world.

The simulator uses the frame of the robot's start. Step t, counted from 0 as in records, is the state after action t:
the state whose cost the step pays.
"""

import math
from dataclasses import dataclass

import mujoco
import numpy as np
from jaxtyping import Float

from ascpo.evaluation.retrace import Path3D

ON_FLOOR = 0.03
"""The height of the trajectory of a robot on the ground: just above the discs."""


@dataclass(frozen=True)
class Poses:
    """The poses of one episode."""

    position: Float[np.ndarray, "time body 3"]
    rotation: Float[np.ndarray, "time body 3 3"]
    goal: Float[np.ndarray, "3"]
    obstacles: Float[np.ndarray, "time n 3"]
    trajectory: Float[np.ndarray, "states 3"]
    """The robot's positions. The first one is its start, so there is one more than there are steps."""

    @property
    def segments(self) -> Float[np.ndarray, "time 2 3"]:
        """The pieces of the trajectory, one per step."""
        return np.stack([self.trajectory[:-1], self.trajectory[1:]], axis=1)


def poses_of(path: Path3D) -> Poses:
    task, layouts = path.task, path.layouts
    position, rotation = _kinematics(path)
    (x, y), angle = np.asarray(layouts[0].robot, float), float(layouts[0].heading)
    heading = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1.0]])
    position, rotation = position @ heading.T + [x, y, 0.0], heading @ rotation
    trajectory = position[:, task.model.body(task.suite.robot.tracked).id].copy()
    if not task.suite.robot.spatial:
        trajectory[:, 2] = ON_FLOOR
    return Poses(
        position=position[1:],
        rotation=rotation[1:],
        goal=np.asarray(layouts[0].goal, float),
        obstacles=np.stack([np.asarray(layout.obstacles, float) for layout in layouts[1:]]),
        trajectory=trajectory,
    )


def _kinematics(path: Path3D) -> tuple[Float[np.ndarray, "states body 3"], Float[np.ndarray, "states body 3 3"]]:
    """The positions and rotations of all bodies, in the frame of the robot's start."""
    model = path.task.model
    data = mujoco.MjData(model)
    position, rotation = [], []
    for qpos, mocap_pos in zip(path.qpos, path.mocap_pos, strict=True):
        # A simulation that diverges has no pose, so the last finite one stays.
        if np.isfinite(qpos).all():
            data.qpos[:], data.mocap_pos[:] = qpos, mocap_pos
        mujoco.mj_kinematics(model, data)
        position.append(data.xpos.copy())
        rotation.append(data.xmat.reshape(-1, 3, 3).copy())
    return np.stack(position), np.stack(rotation)
