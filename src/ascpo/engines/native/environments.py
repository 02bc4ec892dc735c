"""The simulations of the native engine for callers who choose the actions: this package's Gymnasium environments."""

from dataclasses import dataclass

import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Bool, Float, Int, Integer

from ascpo.engines.divergence import Divergence, Divergences
from ascpo.engines.native.host import on_host
from ascpo.engines.native.lane import Lane
from ascpo.engines.native.schedule import SeedSchedule
from ascpo.engines.native.simulator import Simulator
from ascpo.guard.layout import Layout
from ascpo.guard.task import Memory, Outcome, Task


@dataclass(frozen=True)
class Step:
    """A step of all environments, as read-only NumPy arrays."""

    observation: Float[np.ndarray, "env obs"]
    """The observation to act on next, which is that of a new episode if one has just ended."""
    outcome: Outcome
    """The outcome in the episode of the step, with its observation."""
    divergences: list[Divergence]


class NativeEnvironments:
    """Environments of one task that step together."""

    @on_host
    def __init__(self, task: Task, num_envs: int, num_threads: int = 0) -> None:
        self.task = task
        self.num_envs = num_envs
        self.divergences = Divergences()
        self._simulator = Simulator(task, num_envs, num_threads)
        self._lane = Lane(task, self._simulator, SeedSchedule(task, np.zeros(num_envs, np.int64)))
        self._no_parameters = jnp.zeros(0)

    @property
    def episodes(self) -> Int[np.ndarray, " env"]:
        """The number of each environment's running episode."""
        return self._lane.schedule.episodes

    @property
    @on_host
    def memory(self) -> Memory:
        """The task's memory of every environment: scenes, distances, step counts, observations."""
        return self._lane.memory

    def data(self, env: int) -> mujoco.MjData:
        """The state of one simulation, in the frame of its robot's start."""
        return self._simulator.batch.get_data(env)

    @on_host
    def reset(self, seeds: Integer[np.ndarray, " env"]) -> Float[np.ndarray, "env obs"]:
        """Start the first episode of each seed, and return the observations."""
        self._lane = Lane(self.task, self._simulator, SeedSchedule(self.task, seeds))
        return self.next_episode(np.ones(self.num_envs, bool))

    @on_host
    def next_episode(self, which: Bool[np.ndarray, " env"]) -> Float[np.ndarray, "env obs"]:
        """Start the next episode in the given environments, and return all observations."""
        self._lane.next_episode(which)
        return self.memory.observation.copy()

    @on_host
    def place(self, layout: Layout) -> Float[np.ndarray, "env obs"]:
        """Start an episode in the given scene in every environment, and return the observations."""
        self._lane.place(layout)
        return self.memory.observation.copy()

    @on_host
    def step(self, actions: Float[np.ndarray, "env act"]) -> Step:
        """One step of every environment. Finished episodes are reset in the same step."""
        reasons = self._simulator.step(actions)
        # The lane's policy takes its noise as its next actions. These are not used.
        results = np.asarray(self._lane.advance(self._no_parameters, actions))
        divergences = self._lane.end(results, reasons)
        self.divergences.report(divergences)
        done = self._lane.policy.record.unpack(results)
        return Step(done.ahead.observation, done.outcome, divergences)
