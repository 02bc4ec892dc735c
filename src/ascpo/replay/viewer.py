"""The 3D view of an episode in the browser: arena, goal, obstacles, the robot and its trajectory."""

from functools import partial
from typing import TYPE_CHECKING, cast

import mujoco
import numpy as np
from jaxtyping import Bool, UInt8

from ascpo.environments.render import COLOURS, GOAL_COLOUR, coloured
from ascpo.guard import goal
from ascpo.guard.kinds import DISC_HEIGHT
from ascpo.guard.suites import ARENA
from ascpo.guard.task import Task
from ascpo.replay.episode import step_colours
from ascpo.replay.narrow import view
from ascpo.replay.poses import Poses

if TYPE_CHECKING:
    import viser

FLOOR_COLOUR, ALARM_COLOUR = (0.93, 0.94, 0.95), (1.0, 0.78, 0.76)
"""The colours of the arena, without and with a violation."""
_HIDDEN = 5
"""A group of geoms that viser does not draw."""


class Viewer:
    """Shows one episode of a task at a time."""

    def __init__(self, client: "viser.ClientHandle", task: Task) -> None:
        from mjviser import ViserMujocoScene

        self._scene, self._task = client.scene, task
        # It draws on a client or on a server, which both have a scene.
        self._robot = ViserMujocoScene(cast("viser.ViserServer", client), _coloured_model(task), num_envs=1)
        self._robot.camera_tracking_enabled = False
        self._scene.configure_environment_map(environment_intensity=0.4)
        self._floor = self._scene.add_box(
            "/arena", _bytes(FLOOR_COLOUR), (2 * ARENA, 2 * ARENA, 0.02), position=(0.0, 0.0, -0.03), cast_shadow=False
        )
        self._scene.add_grid("/floor", 6 * ARENA, 6 * ARENA, cell_size=0.5, section_size=1.0, position=(0, 0, -0.001))
        height = 0.8 if task.suite.robot.spatial else 0.1
        position, look_at = view(client.camera.image_width, client.camera.image_height, ARENA)
        client.camera.position = np.add(position, (0.0, 0.0, height))
        client.camera.look_at = np.add(look_at, (0.0, 0.0, height))
        client.camera.fov = float(np.radians(45))

    def set_episode(self, poses: Poses, violated: Bool[np.ndarray, " time"]) -> None:
        self._poses, self._violated = poses, violated
        spatial = self._task.suite.robot.spatial
        self._region("/goal", "ball" if spatial else "tube", goal.RADIUS, GOAL_COLOUR, poses.goal)
        self._moving: dict[int, viser.SceneNodeHandle] = {}
        for kind, rows in self._task.suite.slices():
            for row in range(rows.start, rows.stop):
                # The model contains posts.
                if kind.shape != "post":
                    place = poses.obstacles[0, row]
                    region = self._region(f"/{kind.name}/{row}", kind.shape, kind.radius, COLOURS[kind.name], place)
                    self._moving |= {row: region} if kind.moves else {}
        colours = self._segment_colours(step=0)
        self._trajectory = self._scene.add_line_segments("/trajectory", poses.segments, colours, thickness=0.025)

    def show(self, step: int) -> None:
        """Show the state after a step."""
        poses, model = self._poses, self._robot.mj_model
        pillars = np.flatnonzero(model.body_mocapid >= 0)
        upright = np.tile([1.0, 0.0, 0.0, 0.0], (1, len(pillars), 1))
        for row, region in self._moving.items():
            region.position = poses.obstacles[step, row]
        self._floor.color = _bytes(ALARM_COLOUR if self._violated[step] else FLOOR_COLOUR)
        self._trajectory.colors = self._segment_colours(step)
        self._robot.update_from_arrays(
            poses.position[step][None], poses.rotation[step][None], poses.position[step, pillars][None], upright
        )

    def _segment_colours(self, step: int) -> UInt8[np.ndarray, "time 2 3"]:
        """The colours of both ends of each segment."""
        colours = step_colours(self._violated, np.arange(len(self._violated)) <= step)
        return np.repeat(colours[:, None], 2, axis=1)

    def _region(
        self, name: str, shape: str, radius: float, colour: tuple[float, ...], place: np.ndarray
    ) -> "viser.SceneNodeHandle":
        """An obstacle or the goal, which the model does not contain."""
        height = DISC_HEIGHT if shape == "disc" else 2 * goal.HEIGHT - 0.02
        add = self._scene.add_icosphere if shape == "ball" else partial(self._scene.add_cylinder, height=height)
        return add(name, radius, color=_bytes(colour), opacity=colour[3], position=place, cast_shadow=False)


def _coloured_model(task: Task) -> mujoco.MjModel:
    """The suite's model with colours, without its floor and its sites."""
    spec = coloured(task)
    spec.delete(spec.geom("floor"))
    for site in spec.sites:
        site.group = _HIDDEN
    return spec.compile()


def _bytes(colour: tuple[float, ...]) -> tuple[int, int, int]:
    red, green, blue = (round(255 * part) for part in colour[:3])
    return red, green, blue
