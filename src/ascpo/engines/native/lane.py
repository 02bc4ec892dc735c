"""A lane: the environments of one run in the native engine, their episodes, and the policy that acts in them.

The simulator steps all lanes at once. Everything else belongs to a single lane, and uses the same compiled programs
with the same shapes as if the lane were alone. So results do not depend on other runs, bit for bit.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ascpo.engines.actor import Actor, ScriptedActor, Theta
from ascpo.engines.contract import Snapshot
from ascpo.engines.divergence import NOT_FINITE, Divergence
from ascpo.engines.native.programs import begin, policy_programs
from ascpo.engines.native.schedule import EpisodeSchedule, ListSchedule, ReplaySchedule
from ascpo.engines.native.simulator import Simulator
from ascpo.engines.task_step import packed_memory
from ascpo.guard.layout import Layout
from ascpo.guard.task import Memory, Task


class Lane:
    """Consecutive simulations, starting with number `first`. Environments are counted within the lane."""

    def __init__(
        self,
        task: Task,
        simulator: Simulator,
        schedule: EpisodeSchedule,
        actor: Actor = ScriptedActor(),  # noqa: B008
        first: int = 0,
    ) -> None:
        self.schedule = schedule
        self.num_envs = len(schedule.seeds)
        self.policy = policy_programs(task, actor)
        self._task, self._actor, self._simulator = task, actor, simulator
        self._where = slice(first, first + self.num_envs)
        # One row per environment holds its `Memory`, packed.
        self._rows: Float[Array, "env packed"] = jnp.zeros((self.num_envs, packed_memory(task).width))
        self._augmentations = self._initial()

    @property
    def memory(self) -> Memory:
        """The task's memory of every environment."""
        # A copy, because the next step's program reuses the buffer of the rows.
        return packed_memory(self._task).unpack(np.array(self._rows))

    @property
    def scenes(self) -> Int[np.ndarray, "3 env"]:
        """The fields of the running episodes' `Scene`. Zeros without replay."""
        if isinstance(self.schedule, ReplaySchedule):
            return self.schedule.choice.scenes
        return np.zeros((3, self.num_envs), np.int32)

    def next_episode(self, which: Bool[np.ndarray, " env"]) -> None:
        """Start the next episode in the given environments. The policy's augmentations are not reset."""
        rows, envs = np.array(self._rows), np.flatnonzero(which)
        rows[envs] = np.asarray(self.schedule.upcoming)[envs, np.asarray(self.schedule.position)[envs]]
        self._rows = jnp.array(rows)
        self._reset(envs)

    def cut(self) -> None:
        """Cut off all episodes and start new ones."""
        self.next_episode(np.ones(self.num_envs, bool))
        self._augmentations = self._initial()

    def place(self, layout: Layout) -> None:
        """Start an episode in the given scene in every environment."""
        everywhere = jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf)[None], self.num_envs, axis=0), layout)
        self._rows, pillars = begin(self._task, everywhere)
        self._simulator.reset(self._where.start + np.arange(self.num_envs), np.asarray(pillars))

    def first_action(self, theta: Theta, noise: Float[np.ndarray, "env act"]) -> Float[Array, "env _"]:
        """The policy's observations and actions at the start, as a packed `PolicyStep`."""
        return self.policy.first(theta, self._rows, self._augmentations, noise)

    def advance(self, theta: Theta, noise: Float[np.ndarray, "env act"]) -> Float[Array, "env _"]:
        """The outcome of a step of the simulations, and the policy's next actions, as a packed `PolicyStep`."""
        schedule, sensors = self.schedule, self._simulator.sensors[self._where]
        self._rows, self._augmentations, results = self.policy.advance(
            theta, self._rows, self._augmentations, sensors, schedule.upcoming, schedule.position, noise
        )
        return results

    def end(self, results: Float[np.ndarray, "env results"], reasons: dict[int, str]) -> list[Divergence]:
        """Reset the simulations whose episodes ended in a step. Returns those that diverged.

        The task has already started the next episodes. `reasons` are indexed by simulation.
        """
        at, schedule, first = self.policy.record.at, self.schedule, self._where.start
        done = np.flatnonzero((results[:, at["outcome.terminated"]] > 0) | (results[:, at["outcome.truncated"]] > 0))
        if not len(done):
            return []
        found = []
        for i in np.flatnonzero(results[:, at["outcome.diverged"]] > 0).tolist():
            seed, episode = int(schedule.seeds[i]), int(schedule.episodes[i])
            step, reason = int(self._simulator.steps[first + i]), reasons.get(first + i, NOT_FINITE)
            found.append(Divergence(i, seed, episode, step, reason))
        self._reset(done)
        return found

    def snapshot(self) -> Snapshot:
        schedule = self.schedule
        if isinstance(schedule, ListSchedule):
            raise ValueError("A list of episodes has no snapshot. Start it again from its beginning.")
        # Copies, because the next step's program reuses the buffers of rows and augmentations.
        return {
            **schedule.snapshot(),
            "rows": np.array(self._rows),
            "memories": np.array(self._augmentations),
        } | self._simulator.snapshot(self._where)

    def restore(self, snapshot: Snapshot) -> None:
        arrays = {name: np.asarray(value) for name, value in snapshot.items()}
        if not isinstance(self.schedule, ListSchedule):
            self.schedule = self.schedule.restored(arrays)
        self._rows, self._augmentations = jnp.array(arrays["rows"]), jnp.array(arrays["memories"])
        self._simulator.restore(self._where, arrays)

    def _reset(self, which: Int[np.ndarray, " n"]) -> None:
        """Reset simulations for episodes that the task has already started."""
        self._simulator.reset(self._where.start + which, self.schedule.begin_next(which))

    def _initial(self) -> Float[Array, "env augmentation"]:
        return jnp.tile(self._actor.initial(), (self.num_envs, 1))
