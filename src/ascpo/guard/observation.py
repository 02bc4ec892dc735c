"""Observations: named blocks, flattened in alphabetical order.

There are two presets. `paper` follows the paper's tables: a three-valued compass, a lidar for the goal, and zeros for
the lidars of vases and gremlins, which no suite has. `compact` follows the benchmark's own engine: no goal lidar, no
zeros, a two-valued compass on the ground. Results of the two presets are not comparable.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.guard import sensing
from ascpo.guard.model import Reading
from ascpo.guard.suites import Suite, consecutive

Preset = Literal["paper", "compact"]
FIELD = -0.5
"""The magnetic field points along the world's y axis."""


@dataclass(frozen=True)
class Observer:
    """The observations of a robot in a suite, under a preset."""

    suite: Suite
    preset: Preset = "paper"

    @property
    def _paper(self) -> bool:
        return self.preset == "paper"

    @property
    def lidar_frames(self) -> tuple[int, ...]:
        """Indices of the frames that carry compass and lidars."""
        robot = self.suite.robot
        names = (robot.tracked,) if self._paper else robot.compact_lidars
        return tuple(robot.frames.index(name) for name in names)

    @property
    def _joints(self) -> tuple[int, ...]:
        robot = self.suite.robot
        names = robot.joints if self._paper or robot.compact_joints is None else robot.compact_joints
        return tuple(robot.joints.index(name) for name in names)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The length of each block, in the order of the observation."""
        robot = self.suite.robot
        frames, lidars, joints = len(robot.frames), len(self.lidar_frames), len(self._joints)
        bins = sensing.BINS_3D if robot.spatial else sensing.BINS
        blocks = dict.fromkeys(("accelerometer", "velocimeter", "gyro", "magnetometer"), 3 * frames)
        blocks |= {"joint_position": joints, "joint_velocity": joints}
        blocks["touch"] = len(robot.touch) if robot.paper_touch or not self._paper else 0
        blocks["goal_compass"] = lidars * (3 if self._paper or robot.spatial else 2)
        blocks |= {f"{o.kind.name}_lidar": lidars * bins for o in self.suite.obstacles}
        if self._paper:
            blocks["goal_lidar"] = lidars * bins
            blocks |= {} if robot.spatial else {"gremlin_lidar": bins, "vase_lidar": bins}
        return {name: blocks[name] for name in sorted(blocks) if blocks[name]}

    @property
    def size(self) -> int:
        return sum(self.sizes.values())

    @cached_property
    def layout(self) -> dict[str, slice]:
        """The slice of each block in the observation."""
        return dict(zip(self.sizes, consecutive(self.sizes.values()), strict=True))

    def observe(
        self,
        reading: Reading,
        position: Float[Array, "frames 3"],
        R: Float[Array, "frames 3 3"],
        goal: Float[Array, "3"],
        obstacles: Float[Array, "n 3"],
    ) -> Float[Array, " obs"]:
        """The observation, from the sensors and from the frames' positions and rotations in the world."""
        spatial = self.suite.robot.spatial
        scan = sensing.lidar3d if spatial else sensing.lidar
        joints, components = jnp.array(self._joints, dtype=int), 3 if self._paper or spatial else 2

        def from_each_lidar_frame(sense: Callable[..., Float[Array, " n"]]) -> Float[Array, " n"]:
            return jnp.concatenate([sense(position[i], R[i]) for i in self.lidar_frames])

        blocks = {
            "accelerometer": reading.accelerometer,
            "velocimeter": reading.velocimeter,
            "gyro": reading.gyro,
            "magnetometer": FIELD * R[:, 1],
            "joint_position": reading.joint_position[joints],
            "joint_velocity": reading.joint_velocity[joints],
            "touch": reading.touch,
            "goal_compass": from_each_lidar_frame(lambda b, R: sensing.compass(goal, b, R, components)),
            "goal_lidar": from_each_lidar_frame(lambda b, R: scan(goal[None], b, R)),
            "gremlin_lidar": jnp.zeros(sensing.BINS),
            "vase_lidar": jnp.zeros(sensing.BINS),
        }
        for kind, rows in self.suite.slices():
            blocks[f"{kind.name}_lidar"] = from_each_lidar_frame(lambda b, R, rows=rows: scan(obstacles[rows], b, R))
        return jnp.concatenate([jnp.ravel(blocks[name]) for name in self.sizes])
