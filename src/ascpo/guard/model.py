"""The compiled MuJoCo model of a suite, and the layout of its sensor vector.

The model contains only objects with contacts: the robot, the floor, and pillars. Goals, hazards and ghosts are regions,
which the task computes (`guard/task.py`). The robot always starts at the origin with heading 0.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import jax
import mujoco
import numpy as np
from jaxtyping import Array, Float

from ascpo.guard import kinds
from ascpo.guard.suites import Suite, consecutive, suite

SUBSTEPS = 10
"""Physics steps per environment step, with the action held."""


def make_model(name: str | Suite) -> mujoco.MjModel:
    """The compiled model of a suite: `make_model("Point-8-Pillar")`."""
    wanted = suite(name)
    model = mujoco.MjModel.from_xml_string(mjcf(wanted))
    if not wanted.robot.can_touch and not wanted.pillars:
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return model


def touches(model: mujoco.MjModel) -> bool:
    """Whether contacts are enabled: only if the robot can touch something."""
    return not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT


def mjcf(wanted: Suite) -> str:
    """The robot's MJCF with the suite's pillars and sensors."""
    extra = f"<worldbody>{_pillars(wanted)}</worldbody><sensor>{_sensors(wanted)}</sensor>"
    return wanted.robot.mjcf.replace("</mujoco>", extra + "</mujoco>")


def _pillars(wanted: Suite) -> str:
    """Posts that a layout positions: mocap bodies with contacts, parked out of reach until then."""
    half = kinds.PILLAR_HEIGHT / 2
    return "".join(
        f'<body name="pillar_{i}" mocap="true" pos="{100 + 2 * i} 0 {half}">'
        f'<geom name="pillar_{i}" type="cylinder" size="{kinds.PILLAR.radius} {half}" margin="0"/></body>'
        for i in range(wanted.pillars)
    )


def _sensors(wanted: Suite) -> str:
    """MJCF of the sensors, in the order of `SensorPlan.blocks`."""
    robot = wanted.robot
    units = [
        f'<{kind} name="{kind}_{frame}" site="{frame}"/>'
        for kind in ("accelerometer", "velocimeter", "gyro")
        for frame in robot.frames
    ]
    joints = [f'<{kind} joint="{joint}"/>' for kind in ("jointpos", "jointvel") for joint in robot.joints]
    touch = [f'<touch site="{site}"/>' for site in robot.touch]
    poses = [
        f'<{kind} name="{kind}_{frame}" objtype="xbody" objname="{frame}"/>'
        for kind in ("framepos", "framequat")
        for frame in robot.frames
    ]
    contacts = [f'<contact subtree1="robot" geom2="pillar_{i}" data="found"/>' for i in range(wanted.pillars)]
    return "".join(units + joints + touch + poses + contacts)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Reading:
    """The sensors of one simulation after a step. Positions and attitudes are in the frame of the robot's start."""

    accelerometer: Float[Array, "frames 3"]
    velocimeter: Float[Array, "frames 3"]
    gyro: Float[Array, "frames 3"]
    joint_position: Float[Array, " joints"]
    joint_velocity: Float[Array, " joints"]
    touch: Float[Array, " touch"]
    position: Float[Array, "frames 3"]
    attitude: Float[Array, "frames 4"]
    contact: Float[Array, " pillars"]
    """The number of the robot's contact points with each pillar."""
    path: Float[Array, "substeps 3"]
    """The position of the tracked frame at the start of each substep (for the Humanoid's RK4, at its last stage). Empty
    if nothing in the suite follows it."""


@dataclass(frozen=True)
class SensorPlan:
    """The slice of each block of a `Reading` in the sensor vector of an engine."""

    suite: Suite

    @cached_property
    def blocks(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes in the order of the vector: MuJoCo's sensor data, then the path."""
        robot = self.suite.robot
        frames = len(robot.frames)
        return {
            **dict.fromkeys(("accelerometer", "velocimeter", "gyro"), (frames, 3)),
            **dict.fromkeys(("joint_position", "joint_velocity"), (len(robot.joints),)),
            "touch": (len(robot.touch),),
            "position": (frames, 3),
            "attitude": (frames, 4),
            "contact": (self.suite.pillars,),
            "path": (SUBSTEPS if self.suite.moves else 0, 3),
        }

    @cached_property
    def offsets(self) -> dict[str, slice]:
        return dict(zip(self.blocks, consecutive(map(math.prod, self.blocks.values())), strict=True))

    @property
    def size(self) -> int:
        return self.offsets["path"].stop

    def read(self, vector: Float[Array, " sensors"]) -> Reading:
        return Reading(**{name: vector[self.offsets[name]].reshape(shape) for name, shape in self.blocks.items()})


@dataclass(frozen=True)
class Start:
    """The simulator's state at the start of every episode."""

    state: np.ndarray
    """The integration state (`mjSTATE_INTEGRATION`): zero pose, at rest, pillars parked."""
    sensors: np.ndarray
    """The sensor vector after a forward pass."""


def start_of(model: mujoco.MjModel, plan: SensorPlan) -> Start:
    """The common start of all episodes of a model."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    spec = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(model, spec))
    mujoco.mj_getState(model, data, state, spec)
    tracked = data.sensordata[plan.offsets["position"]].reshape(-1, 3)[plan.suite.robot.tracked_frame]
    path = np.tile(tracked, plan.blocks["path"][0])
    return Start(state, np.concatenate([data.sensordata, path]).astype(np.float32))
