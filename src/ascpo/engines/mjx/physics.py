"""The physics of many environments by MJX: the native engine's models, compiled by JAX or run by Warp.

A step is ten substeps without sensors and a forward pass with them, as in the native engine, in single precision.
"""

import contextlib
import copy
import importlib
import importlib.util
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, Float

from ascpo.guard.actuation import lift
from ascpo.guard.layout import AnyArray
from ascpo.guard.model import SUBSTEPS, touches
from ascpo.guard.task import Task

with contextlib.redirect_stdout(io.StringIO()):  # MJX prints that Warp is missing, which is not an error.
    from mujoco import mjx

Implementation = Literal["jax", "warp"]
MjxData: TypeAlias = Any
MjxModel: TypeAlias = Any
"""JAX's or Warp's, which have different fields."""
Advance: TypeAlias = Callable[[MjxModel, MjxData], MjxData]
_TOO_LARGE = 1e10
"""MuJoCo treats a simulation with larger numbers as broken down."""


class Unserved(ValueError):
    """An implementation cannot simulate a suite. The message says what to use instead."""


def best_implementation(task: Task) -> Implementation:
    """Warp if it is installed, there is a GPU, and the robot can touch something. JAX is faster without contacts."""
    cuda = jax.default_backend() in ("gpu", "cuda")
    return "warp" if touches(task.model) and cuda and importlib.util.find_spec("warp") else "jax"


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Pose:
    """The state of a simulation."""

    qpos: Float[Array, "*env nq"]
    qvel: Float[Array, "*env nv"]
    warmstart: Float[Array, "*env nv"]
    pillars: Float[Array, "*env pillars 3"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Moving:
    """Running simulations."""

    data: MjxData
    """A `Pose` for JAX, which recomputes the rest. All of MJX's data for Warp, which updates it in place."""
    sensors: Float[Array, "*env sensors"]
    """Sensors after the last step. NaN if the simulation broke down."""

    @property
    def pose(self) -> Pose:
        data = self.data
        return data if isinstance(data, Pose) else Pose(data.qpos, data.qvel, data.qacc_warmstart, data.mocap_pos)


class Physics:
    """The simulations of one task."""

    def __init__(self, task: Task, implementation: Implementation | None = None) -> None:
        self.implementation: Implementation = implementation or best_implementation(task)
        if self.implementation == "warp":
            _prepare_warp()
        self._task = task
        model = in_single_precision(task.model)
        quiet = copy.copy(model)
        quiet.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
        self._quiet, self._loud = self._put(quiet), self._put(model)
        # Of several hosts, each has the model on a device of its own.
        self._blank = mjx.make_data(model, jax.local_devices()[0], impl="jax") if self.implementation == "jax" else None
        start = mujoco.MjData(model)
        mujoco.mj_setState(model, start, task.start.state, int(mujoco.mjtState.mjSTATE_INTEGRATION))
        self._start = [np.array(part, np.float32) for part in (start.qpos, start.qvel, start.qacc_warmstart)]
        self._rotors = [model.body(name).id for name in task.suite.robot.rotors]
        self._mass = float(model.body_mass.sum())
        self._tracked = model.body(task.suite.robot.tracked).id
        self._touches = touches(model)

    def begin(self, pillars: Float[Array, "env pillars 3"]) -> Moving:
        """All simulations at the start, with pillars at these positions.

        JAX cannot trace this: Warp's data come from the host.
        """
        return self.stand(self._begun(pillars), jnp.tile(self._task.start.sensors, (len(pillars), 1)))

    def stand(self, pose: Pose, sensors: Float[Array, "env sensors"]) -> Moving:
        """Simulations in these states."""
        if self.implementation == "jax":
            return Moving(pose, sensors)
        pairs, rows = room_for(self._task.model)
        room = {"naconmax": pairs * len(sensors), "njmax": rows}
        data = jax.vmap(lambda _: mjx.make_data(self._task.model, impl="warp", **room))(jnp.arange(len(sensors)))
        return Moving(_posed(_unbound(data), pose), sensors)

    def reset(self, moving: Moving, which: Bool[Array, " env"], pillars: Float[Array, "env pillars 3"]) -> Moving:
        """Put some simulations back to the start, with pillars at these positions."""

        def choose(new: AnyArray, old: Array) -> Array:
            return jnp.where(which.reshape(-1, *(1,) * (old.ndim - 1)), new, old)

        pose = jax.tree.map(choose, self._begun(pillars), moving.pose)
        data = pose if self.implementation == "jax" else _posed(moving.data, pose)
        return Moving(data, choose(self._task.start.sensors, moving.sensors))

    def step(self, moving: Moving, actions: Float[Array, "env act"]) -> Moving:
        """Apply the actions for one step and read the sensors."""
        # Warp batches all simulations in one data structure. JAX's are made from poses, one by one.
        if self.implementation == "jax":
            return jax.vmap(self._step_one)(moving, actions)
        not_yet_short = moving.data.tree_replace({"_impl.overflow": jnp.zeros_like(moving.data._impl.overflow)})
        data = self._commanded(not_yet_short, actions, moving.sensors)
        step, forward = jax.vmap(mjx.step, (None, 0)), jax.vmap(mjx.forward, (None, 0))
        return jax.vmap(self._sensed)(*self._moved(data, step, forward))

    def _begun(self, pillars: Float[Array, "env pillars 3"]) -> Pose:
        qpos, qvel, warmstart = (jnp.tile(x, (len(pillars), 1)) for x in self._start)
        return Pose(qpos, qvel, warmstart, pillars)

    def _step_one(self, moving: Moving, actions: Float[Array, " act"]) -> Moving:
        data = self._commanded(_posed(self._blank, moving.data), actions, moving.sensors)
        return self._sensed(*self._moved(data, mjx.step, self._forward))

    def _moved(self, data: MjxData, step: Advance, forward: Advance) -> tuple[MjxData, Float[Array, "*env path"]]:
        """The data after the substeps and a forward pass, and the tracked body's position before each substep."""

        def substep(data: MjxData, _: None) -> tuple[MjxData, Float[Array, "*env 3"] | None]:
            data = step(self._quiet, data)
            return data, data.xpos[..., self._tracked, :] if self._task.suite.moves else None

        # Small simulations are unrolled, because iterations of a loop are expensive on an accelerator.
        unroll = SUBSTEPS if jax.default_backend() != "cpu" and not self._touches else 1
        data, path = jax.lax.scan(substep, data, None, length=SUBSTEPS, unroll=unroll)
        data = forward(self._loud, data)
        many = data.qpos.shape[:-1]
        return data, jnp.zeros((*many, 0)) if path is None else jnp.moveaxis(path, 0, -2).reshape(*many, -1)

    def _sensed(self, data: MjxData, path: Float[Array, " path"]) -> Moving:
        sound = jnp.all(jnp.abs(jnp.concatenate([data.qpos, data.qvel, data.qacc])) < _TOO_LARGE)
        if self.implementation == "warp":
            sound &= ~_fell_short(data)
        sensors = jnp.where(sound, jnp.concatenate([data.sensordata, path]), jnp.nan)
        moving = Moving(data, sensors)
        return Moving(moving.pose, sensors) if self.implementation == "jax" else moving

    def _commanded(self, data: MjxData, actions: Float[Array, "*env act"], sensors: Float[Array, "*env _"]) -> MjxData:
        if not self._rotors:
            return data.replace(ctrl=actions)
        forces = lift(actions, sensors, self._task.plan.offsets, self._mass)
        return data.replace(xfrc_applied=data.xfrc_applied.at[..., np.array(self._rotors), :3].set(forces))

    def _forward(self, model: MjxModel, data: MjxData) -> MjxData:
        data = mjx.forward(model, data)
        # Without constraints, MJX returns before it computes the sensors of accelerations.
        return data if self._touches else mjx.sensor_acc(model, data)

    def _put(self, model: mujoco.MjModel) -> MjxModel:
        try:
            put = mjx.put_model(model, jax.local_devices()[0], impl=self.implementation)
        except NotImplementedError as error:
            found = f"MJX's implementation in {self.implementation} cannot simulate {self._task.suite.name} ({error})"
            use = "--engine native, or Warp on an NVIDIA GPU: install ascpo[warp]"
            raise Unserved(f"{found}. Use {use}.") from error
        return put if self.implementation == "jax" else _discreet(put)


def in_single_precision(model: mujoco.MjModel) -> mujoco.MjModel:
    """The model, adjusted to single precision.

    In single precision, solvers do not reach their tolerance and run to the last iteration. So their iterations are
    limited, to more than any robot needs in double precision. And joints that can become parallel get a ten-thousandth
    of their inertia in addition: the slides of Walker and Humanoid at a yaw of 90 degrees, and the outer hinges of
    Drone at a pitch of 90 degrees. There the mass matrix is singular, which only double precision survives.
    """
    model = copy.copy(model)
    model.opt.iterations = min(model.opt.iterations, 10)
    model.opt.ls_iterations = min(model.opt.ls_iterations, 20)
    parallel = _may_align(model)
    model.dof_armature[parallel] = np.maximum(model.dof_armature[parallel], 1e-4 * model.dof_M0[parallel])
    return model


def _prepare_warp() -> None:
    """Check that Warp is installed, and turn off its messages about every kernel that it loads."""
    if not importlib.util.find_spec("warp"):
        raise Unserved("Warp is not installed. Install ascpo[warp], or choose the implementation jax.")
    warp = importlib.import_module("warp")
    warp.config.log_level = warp.LOG_WARNING


def _discreet(model: MjxModel) -> MjxModel:
    """Warp's model without warnings about solvers that stop at their last iteration: in single precision most do."""
    from mujoco.mjx.third_party.mujoco_warp import OverflowType

    warned = OverflowType.ALL & ~OverflowType.ITERATIONS & ~OverflowType.LS_ITERATIONS
    return model.tree_replace({"opt._impl.warn_overflow": int(warned)})


def _may_align(model: mujoco.MjModel) -> list[int]:
    """Degrees of freedom of slides, or of hinges, that a hinge between them can make parallel."""
    slide, hinge = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
    found = []
    for body in range(model.nbody):
        first = model.body_jntadr[body]
        kinds = model.jnt_type[first : first + model.body_jntnum[body]].tolist()
        for kind in (slide, hinge):
            alike = [i for i, each in enumerate(kinds) if each == kind]
            if alike and hinge in kinds[alike[0] + 1 : alike[-1]]:
                found += [int(model.jnt_dofadr[first + i]) for i in alike]
    return found


def _unbound(data: MjxData) -> MjxData:
    """The data without a device. MJX commits its arrays to one.

    Everything that is computed from them, rollouts and then the learner, would be committed as well, and JAX would
    compile the learner's programs again.
    """
    return jax.tree.map(lambda x: jnp.asarray(np.asarray(x)), data)


def _posed(data: MjxData, pose: Pose) -> MjxData:
    return data.replace(qpos=pose.qpos, qvel=pose.qvel, qacc_warmstart=pose.warmstart, mocap_pos=pose.pillars)


def room_for(model: mujoco.MjModel) -> tuple[int, int]:
    """Buffer sizes of one simulation: pairs of geoms that are near each other, and rows of constraints.

    Running robots have some eight pairs and at most six contacts. A simulation that exceeds its buffers is no longer
    correct, and counts as broken down.
    """
    pairs, contacts, sides = 24, 12, 2 * (int(model.geom_condim.max()) - 1)
    return pairs, contacts * sides + model.njnt


def _fell_short(data: MjxData) -> Bool[Array, ""]:
    """Whether a buffer has overflowed since the flag was last reset."""
    from mujoco.mjx.third_party.mujoco_warp import OverflowType

    lost = OverflowType.NEFC | OverflowType.BROADPHASE | OverflowType.NARROWPHASE
    return data._impl.overflow & int(lost) != 0
