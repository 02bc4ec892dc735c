"""Rendering of a scene: robot, goal, obstacles, and a red tint in states with a cost.

Everything is drawn in the frame of the robot's start, which the simulator uses. The camera is transformed into it, so
that it stands still in the world.
"""

import ctypes.util
import math
import os
import sys
from typing import Protocol, runtime_checkable

import mujoco
import numpy as np

from ascpo.errors import OPENGL_PACKAGES
from ascpo.guard import goal
from ascpo.guard.layout import Layout
from ascpo.guard.model import mjcf
from ascpo.guard.suites import ARENA
from ascpo.guard.task import Task

GOAL_COLOUR = (0.2, 0.75, 0.35, 0.45)
COLOURS = {
    "hazard": (0.25, 0.4, 0.95, 0.6),
    "hazard3d": (0.25, 0.4, 0.95, 0.45),
    "ghost": (0.65, 0.35, 0.85, 0.6),
    "ghost3d": (0.65, 0.35, 0.85, 0.45),
}
PILLAR_COLOUR = (0.95, 0.6, 0.15, 1.0)
ROBOT_COLOUR = (0.85, 0.25, 0.2, 1.0)
TINT = np.array([1.0, 0.78, 0.78])
"""The tint of red light, which darkens blue and green."""


@runtime_checkable
class _Context(Protocol):
    """The common interface of MuJoCo's three kinds of OpenGL contexts."""

    def make_current(self) -> None: ...
    def free(self) -> None: ...


class RenderingUnavailable(RuntimeError):
    """There is no OpenGL for rendering."""


class Painter:
    """Draws the scenes of a task."""

    _open = False

    def __init__(self, task: Task, width: int, height: int) -> None:
        self._task = task
        self._model = _decorated(task, width, height)
        self._data = mujoco.MjData(self._model)
        self._context = _open_context(width, height)
        self._pixels = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        self._open = True
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._pixels)
        self._scene = mujoco.MjvScene(self._model, maxgeom=1000)
        self._rect = mujoco.MjrRect(0, 0, width, height)
        self._image = np.empty((height, width, 3), np.uint8)

    def paint(self, data: mujoco.MjData, layout: Layout, *, violated: bool) -> np.ndarray:
        """The image of one simulation, as an array of height by width by RGB."""
        self._context.make_current()
        for field in ("qpos", "qvel", "mocap_pos", "mocap_quat"):
            getattr(self._data, field)[:] = getattr(data, field)
        mujoco.mj_forward(self._model, self._data)
        camera, option = _camera(layout, spatial=self._task.suite.robot.spatial), mujoco.MjvOption()
        option.sitegroup[:] = 0
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(self._model, self._data, option, None, camera, everything, self._scene)
        self._add_regions(layout)
        mujoco.mjr_render(self._rect, self._scene, self._pixels)
        mujoco.mjr_readPixels(self._image, None, self._rect, self._pixels)
        image = self._image[::-1]
        if violated:
            image = (image * TINT).astype(np.uint8)
        return image.copy()

    def close(self) -> None:
        """Free OpenGL's resources. The order matters: a context's objects can only be freed while it is current."""
        if self._open:
            self._context.make_current()
            self._pixels.free()
            self._context.free()
            self._open = False

    def __del__(self) -> None:
        # At exit the libraries that free them may be gone, and the system frees them anyway.
        try:
            self.close()
        except Exception:
            self._open = False

    def _add_regions(self, layout: Layout) -> None:
        """Draw goal, hazards and ghosts, which are not in the model."""
        balls = self._task.suite.robot.spatial
        form = (mujoco.mjtGeom.mjGEOM_SPHERE if balls else mujoco.mjtGeom.mjGEOM_CYLINDER).value
        regions = [(layout.goal, goal.RADIUS, goal.HEIGHT - 0.01, GOAL_COLOUR)]
        for kind, rows in self._task.suite.slices():
            if kind.shape != "post":
                places = np.asarray(layout.obstacles)[rows]
                regions += [(place, kind.radius, 0.01, COLOURS[kind.name]) for place in places]
        for place, radius, half_height, colour in regions:
            size = np.array([radius] * 3 if balls else [radius, half_height, 0.0])
            at, upright = _from_start(layout, place), np.eye(3).ravel()
            geom = self._scene.geoms[self._scene.ngeom]
            mujoco.mjv_initGeom(geom, form, size, at, upright, np.array(colour, np.float32))
            self._scene.ngeom += 1


def _from_start(layout: Layout, place: np.ndarray) -> np.ndarray:
    """A position in the world, in the frame of the robot's start."""
    c, s = math.cos(float(layout.heading)), math.sin(float(layout.heading))
    x, y = np.asarray(place, float)[:2] - np.asarray(layout.robot, float)
    return np.array([c * x + s * y, -s * x + c * y, float(place[2])])


def _camera(layout: Layout, *, spatial: bool) -> mujoco.MjvCamera:
    """A camera that sees the whole arena and the objects above it."""
    camera = mujoco.MjvCamera()
    camera.lookat[:] = _from_start(layout, np.array([0.0, 0.0, 0.3]))
    camera.distance, camera.elevation = (4.2 if spatial else 3.6) * ARENA, -55.0
    camera.azimuth = 90.0 - math.degrees(float(layout.heading))
    return camera


def coloured(task: Task) -> mujoco.MjSpec:
    """The suite's model, robot and pillars in their colours."""
    spec = mujoco.MjSpec.from_string(mjcf(task.suite))
    for geom in spec.geoms:
        geom.rgba = PILLAR_COLOUR if geom.name.startswith("pillar") else ROBOT_COLOUR
    return spec


def _decorated(task: Task, width: int, height: int) -> mujoco.MjModel:
    """The suite's model with colours, a chequered floor and a light, and no other change."""
    spec = coloured(task)
    spec.visual.global_.offwidth, spec.visual.global_.offheight = width, height
    spec.visual.headlight.ambient, spec.visual.headlight.diffuse = [0.35] * 3, [0.3] * 3
    spec.visual.headlight.specular = [0.1] * 3
    chequers = {"type": mujoco.mjtTexture.mjTEXTURE_2D, "builtin": mujoco.mjtBuiltin.mjBUILTIN_CHECKER}
    shades = {"rgb1": [0.86, 0.87, 0.88], "rgb2": [0.78, 0.79, 0.81]}
    texture = spec.add_texture(name="floor", **chequers, **shades, width=64, height=64)
    gradient = {"type": mujoco.mjtTexture.mjTEXTURE_SKYBOX, "builtin": mujoco.mjtBuiltin.mjBUILTIN_GRADIENT}
    grey = [0.95, 0.96, 0.98]
    spec.add_texture(name="sky", **gradient, rgb1=grey, rgb2=grey, width=32, height=32 * 6)
    floor = spec.add_material(name="floor", texrepeat=[1, 1], texuniform=True)
    floor.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = texture.name
    ground = spec.geom("floor")
    ground.material, ground.rgba, ground.size = floor.name, [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.1]
    light = spec.worldbody.add_light(pos=[0, 0, 4], dir=[0.2, 0.3, -1], type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL)
    light.diffuse, light.specular = [0.45] * 3, [0.1] * 3
    # Shadows show the height of objects in the air. On the ground they are only noise.
    light.castshadow = task.suite.robot.spatial
    return spec.compile()


def _headless_kinds() -> list[str]:
    """The kinds that need no screen and are installed. After a failure, PyOpenGL cannot load another one."""
    libraries = {"egl": "EGL", "osmesa": "OSMesa"}
    return [kind for kind, library in libraries.items() if ctypes.util.find_library(library)]


def _open_context(width: int, height: int) -> _Context:
    """An OpenGL context: of the kind in MUJOCO_GL, or of the first kind that works."""
    asked = os.environ.get("MUJOCO_GL", "").lower()
    headless = sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    kinds = [asked] if asked in ("egl", "osmesa", "glfw") else _headless_kinds() if headless else ["glfw", "egl"]
    failures = []
    for kind in kinds:
        try:
            context = __import__(f"mujoco.{kind}", fromlist=["GLContext"]).GLContext(width, height)
            context.make_current()
        except Exception as error:  # Each backend raises its own exceptions.
            failures.append(f"{kind}: {error}")
        else:
            return context
    raise RenderingUnavailable(
        f"There is no OpenGL for rendering ({'; '.join(failures) or 'no library'}). On Debian and Ubuntu, "
        f"{OPENGL_PACKAGES} installs one that needs no screen; "
        f"set MUJOCO_GL to egl or osmesa to choose."
    )
