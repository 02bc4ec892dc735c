"""The same simulations for callers who choose the actions: the Gymnasium environments of this package."""

from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np
from jaxtyping import Bool, Float, Int, Integer

from ascpo.engines.divergence import Divergence, Divergences
from ascpo.engines.native.host import on_host
from ascpo.engines.native.lane import Lane
from ascpo.engines.native.programs import Stepped, task_programs
from ascpo.engines.native.schedule import SeedSchedule
from ascpo.engines.native.simulator import Simulator
from ascpo.engines.packed import Packed
from ascpo.guard.layout import Layout
from ascpo.guard.task import Memory, Outcome, Task


@dataclass
class Step:
    """A step of all environments, as NumPy arrays that are not to be written to. They are unpacked when asked for."""

    results: Float[np.ndarray, "env results"]
    record: Packed[Stepped]
    divergences: tuple[Divergence, ...] = ()

    @property
    def observation(self) -> Float[np.ndarray, "env obs"]:
        """To act on next: of the new episode where one has just ended."""
        return self.results[:, self.record.at["observation"]]

    @cached_property
    def outcome(self) -> Outcome:
        """What the step did. Its observation is of the episode that was stepped."""
        return self.record.unpack(self.results).outcome

    @property
    def done(self) -> Bool[np.ndarray, " env"]:
        at = self.record.at
        return (self.results[:, at["outcome.terminated"]] > 0) | (self.results[:, at["outcome.truncated"]] > 0)


class NativeEnvironments:
    """Environments of one task, stepped together."""

    @on_host
    def __init__(self, task: Task, num_envs: int, num_threads: int = 0) -> None:
        self.task = task
        self.num_envs = num_envs
        self.divergences = Divergences()
        self._simulator = Simulator(task, num_envs, num_threads)
        self._lane = Lane(task, self._simulator, SeedSchedule(task, np.zeros(num_envs, np.uint32)))
        self._record = task_programs(task).stepped

    @property
    def episodes(self) -> Int[np.ndarray, " env"]:
        """The number of each environment's running episode."""
        return self._lane.schedule.episodes

    @property
    @on_host
    def memory(self) -> Memory:
        """What the task remembers of every environment: scenes, distances, step counts, observations."""
        return self._lane.memory

    def data(self, env: int) -> mujoco.MjData:
        """One simulation's state, in the frame of its robot's start."""
        return self._simulator.batch.get_data(env)

    @on_host
    def reset(self, seeds: Integer[np.ndarray, " env"]) -> Float[np.ndarray, "env obs"]:
        """Begin the first episode of each seed, and return the observations."""
        self._lane = Lane(self.task, self._simulator, SeedSchedule(self.task, seeds))
        return self.next_episode(np.ones(self.num_envs, bool))

    @on_host
    def next_episode(self, which: Bool[np.ndarray, " env"]) -> Float[np.ndarray, "env obs"]:
        """Begin the next episode in the environments named, and return all observations."""
        self._lane.next_episode(which)
        return self._observations()

    @on_host
    def place(self, layout: Layout) -> Float[np.ndarray, "env obs"]:
        """Begin an episode in the same given scene in every environment, and return the observations."""
        self._lane.place(layout)
        return self._observations()

    @on_host
    def step(self, actions: Float[np.ndarray, "env act"]) -> Step:
        """One step of every environment. Episodes that end begin anew in the same step."""
        reasons = self._simulator.step(actions)
        step = Step(np.asarray(self._lane.advance()), self._record)
        done = step.done
        if done.any():
            step.divergences = tuple(self._lane.end(done, step.outcome.diverged, reasons))
            self.divergences.report(step.divergences)
        return step

    def _observations(self) -> Float[np.ndarray, "env obs"]:
        return np.array(self.memory.observation, np.float32)
