"""The physics of many environments on the host's threads: ten substeps without sensors, then a forward pass."""

import functools

import mujoco
import numpy as np
from jaxtyping import Float, Int
from mujoco.batch import Batch, SimulationError

from ascpo.engines.contract import Snapshot
from ascpo.guard.actuation import lift
from ascpo.guard.model import SUBSTEPS
from ascpo.guard.task import Task


class Simulator:
    """The physics and the sensors of all environments."""

    def __init__(self, task: Task, num_envs: int, num_threads: int) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs={num_envs}: ask for at least one environment.")
        if num_threads < 0:
            raise ValueError(f"num_threads={num_threads}: ask for at least one thread, or 0 for one per core.")
        self._task = task
        self.batch = Batch(task.model, num_envs, num_threads)
        self.sensors: Float[np.ndarray, "env sensors"] = np.tile(task.start.sensors, (num_envs, 1))
        """Sensors after the last step. NaN if the simulation diverged."""
        self.steps: Int[np.ndarray, " env"] = np.zeros(num_envs, np.int64)
        """Steps of the running episode."""
        self._sensordata = self.batch.bind("sensordata")
        self._controls = self.batch.bind("xfrc_applied" if task.suite.robot.rotors else "ctrl")
        self._flags = self.batch.expand("opt.disableflags")
        self._all_on = int(task.model.opt.disableflags)
        self._rotors = [task.model.body(name).id for name in task.suite.robot.rotors]
        self._mass = float(task.model.body_mass.sum())
        self._tracked = task.model.body(task.suite.robot.tracked).id
        self._places = np.empty((num_envs, SUBSTEPS, task.model.nbody, 3))

    def reset(self, which: Int[np.ndarray, " n"], pillars: Float[np.ndarray, "n pillars 3"]) -> None:
        """Reset simulations to the start, with pillars at these positions."""
        self.batch.state[which] = self._task.start.state
        self.sensors[which] = self._task.start.sensors
        self.steps[which] = 0
        if self._task.suite.pillars:
            self.batch.bind("mocap_pos")[which] = pillars

    def snapshot(self, where: slice) -> Snapshot:
        """A snapshot of consecutive simulations."""
        parts = {"physics": self.batch.state, "sensors": self.sensors, "steps": self.steps}
        return {name: part[where].copy() for name, part in parts.items()}

    def restore(self, where: slice, snapshot: Snapshot) -> None:
        self.batch.state[where] = snapshot["physics"]
        self.sensors[where], self.steps[where] = snapshot["sensors"], snapshot["steps"]

    def step(self, actions: Float[np.ndarray, "env act"], which: Int[np.ndarray, " n"] | None = None) -> dict[int, str]:
        """Apply the actions for one step and read the sensors. Returns the simulations that diverged, with reasons.

        `which` names the simulations that step, in rising order. The others rest. None means all of them.
        """
        if which is not None and not len(which):
            return {}
        if self._rotors:
            self._controls[:, self._rotors, :3] = lift(actions, self.sensors, self._task.plan.offsets, self._mass)
        else:
            self._controls[:] = actions
        reasons = self._substeps(which)
        self.steps += 1
        warned = self.batch.warning[:, :, 1]
        if warned.any():
            # MuJoCo has reset a diverged state to the start, so that the robot would seem to teleport.
            for i in np.flatnonzero(warned.any(axis=1)):
                names = [mujoco.mjtWarning(k).name.removeprefix("mjWARN_") for k in np.flatnonzero(warned[i])]
                reasons.setdefault(int(i), f"MuJoCo warned of {', '.join(names)}")
            self.batch.warning[:] = 0
        size, stepped = self._sensordata.shape[1], slice(None) if which is None else which
        self.sensors[stepped, :size] = self._sensordata[stepped]
        if self._task.suite.moves:
            tracked = self._recorded(which)[:, :, self._tracked]
            self.sensors[stepped, size:] = tracked.reshape(len(tracked), -1)
        if reasons:
            self.sensors[list(reasons)] = np.nan
        return reasons

    def _substeps(self, which: Int[np.ndarray, " n"] | None) -> dict[int, str]:
        """Ten substeps without sensors, and a forward pass with them."""
        reasons, substeps = {}, functools.partial(self.batch.step, which, nstep=SUBSTEPS)
        if self._task.suite.moves:
            # Ghosts react to the robot in every substep, so its path is recorded.
            record = functools.partial(self.batch.rollout, SUBSTEPS, record=("xpos",), ids=which)
            substeps = functools.partial(record, out={"xpos": self._recorded(which)})
        forward = functools.partial(self.batch.forward, which)
        for flags, call in ((_SENSORS_OFF, substeps), (0, forward)):
            self._flags[:] = self._all_on | flags
            try:
                call()
            except SimulationError as error:
                reasons |= {int(i): self.batch.error(int(i)) for i in error.ids}
        return reasons

    def _recorded(self, which: Int[np.ndarray, " n"] | None) -> Float[np.ndarray, "n substep body 3"]:
        """Where the bodies of the stepping simulations are in each substep, in the order of `which`."""
        return self._places if which is None else self._places[: len(which)]


_SENSORS_OFF = int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
