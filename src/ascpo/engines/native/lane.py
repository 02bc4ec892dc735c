"""A lane: the environments of one run in the native engine, their episodes, and the policy that acts in them.

The simulator moves all lanes at once. Everything else is a lane's own, and goes through the same compiled programs
with the same shapes as if the lane were alone: other runs change no bit.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ascpo.engines.actor import Actor, ScriptedActor
from ascpo.engines.contract import Snapshot
from ascpo.engines.divergence import NOT_FINITE, Divergence
from ascpo.engines.native.programs import PolicyPrograms, policy_programs, task_programs
from ascpo.engines.native.schedule import EpisodeSchedule, SeedSchedule
from ascpo.engines.native.simulator import Simulator
from ascpo.guard.layout import Layout
from ascpo.guard.task import Memory, Task


class Lane:
    """Neighbouring simulations, from the simulation `first` on. Environments are counted within the lane."""

    def __init__(
        self,
        task: Task,
        simulator: Simulator,
        schedule: EpisodeSchedule,
        actor: Actor | None = None,
        first: int = 0,
    ) -> None:
        self.schedule = schedule
        self.num_envs = len(schedule.seeds)
        self._task, self._actor = task, actor or ScriptedActor()
        self._programs = task_programs(task)
        self._simulator = simulator
        self._where = slice(first, first + self.num_envs)
        # One row per environment holds its `Memory`, packed.
        self._rows: Float[Array, "env packed"] = jnp.zeros((self.num_envs, self._programs.memory.width))
        self._augmentations = self._initial()

    @functools.cached_property
    def policy(self) -> PolicyPrograms:
        return policy_programs(self._task, self._actor)

    @property
    def memory(self) -> Memory:
        """What the task remembers of every environment."""
        return jax.tree.map(np.asarray, self._programs.unpack(self._rows))

    def next_episode(self, which: Bool[np.ndarray, " env"]) -> None:
        """Begin the next episode in the environments named. The policy's augmentations stay."""
        schedule = self.schedule
        self._rows = self._programs.begin_next(self._rows, which, schedule.upcoming, schedule.position)
        self._reset(np.flatnonzero(which))

    def cut(self) -> None:
        """Break all episodes off and begin new ones."""
        self.next_episode(np.ones(self.num_envs, bool))
        self._augmentations = self._initial()

    def place(self, layout: Layout) -> None:
        """Begin an episode in the same given scene in every environment."""
        everywhere = jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf)[None], self.num_envs, axis=0), layout)
        self._rows, pillars = self._programs.begin(everywhere)
        self._simulator.reset(self._where.start + np.arange(self.num_envs), np.asarray(pillars))

    def advance(self) -> Float[Array, "env results"]:
        """After the simulations have moved: what that did, as a packed `Stepped`."""
        self._rows, results = self._programs.advance(
            self._rows, self._simulator.sensors[self._where], self.schedule.upcoming, self.schedule.position
        )
        return results

    def first_action(self, theta: Float[Array, " p"], noise: Float[np.ndarray, "env act"]) -> Float[Array, "env _"]:
        """What the policy observes and does now, as a packed `PolicyStep`."""
        return self.policy.first(theta, self._rows, self._augmentations, noise)

    def advance_and_act(self, theta: Float[Array, " p"], noise: Float[np.ndarray, "env act"]) -> Float[Array, "env _"]:
        """After the simulations have moved: what that did and what the policy does next, as a packed `PolicyStep`."""
        self._rows, self._augmentations, results = self.policy.advance(
            theta,
            self._rows,
            self._augmentations,
            self._simulator.sensors[self._where],
            self.schedule.upcoming,
            self.schedule.position,
            noise,
        )
        return results

    def end(
        self, done: Bool[np.ndarray, " env"], diverged: Bool[np.ndarray, " env"], reasons: dict[int, str]
    ) -> list[Divergence]:
        """After a step: put simulations whose episodes are done back to the start, and say which broke down.

        The task has begun the next episodes already. `reasons` are by simulation.
        """
        found = [
            Divergence(
                env=int(i),
                seed=int(self.schedule.seeds[i]),
                episode=int(self.schedule.episodes[i]),
                step=int(self._simulator.steps[self._where.start + i]),
                reason=reasons.get(self._where.start + int(i), NOT_FINITE),
            )
            for i in np.flatnonzero(diverged)
        ]
        self._reset(np.flatnonzero(done))
        return found

    def snapshot(self) -> Snapshot:
        schedule = self.schedule
        if not isinstance(schedule, SeedSchedule):
            raise ValueError("A list of episodes has no snapshot. Start it again from its beginning.")
        # Copies: rows and augmentations are given away to the next step's program.
        return {
            "seeds": schedule.seeds.copy(),
            "episodes": schedule.episodes.copy(),
            "used": schedule.used.copy(),
            "rows": np.array(self._rows),
            "memories": np.array(self._augmentations),
        } | self._simulator.snapshot(self._where)

    def restore(self, snapshot: Snapshot) -> None:
        arrays = {name: np.asarray(value) for name, value in snapshot.items()}
        if len(arrays["seeds"]) != self.num_envs:
            raise ValueError(
                f"The snapshot is of {len(arrays['seeds'])} environments, and a run has {self.num_envs} here. "
                f"Ask for as many as were copied."
            )
        # The layouts ahead are drawn again, from the episode after which they were drawn.
        self.schedule = SeedSchedule(self._task, arrays["seeds"], arrays["episodes"], arrays["used"])
        self._rows, self._augmentations = jnp.array(arrays["rows"]), jnp.array(arrays["memories"])
        self._simulator.restore(self._where, arrays)

    def _reset(self, which: Int[np.ndarray, " n"]) -> None:
        """Put simulations back to the start, for episodes that the task has begun already."""
        self._simulator.reset(self._where.start + which, self.schedule.begin_next(which))

    def _initial(self) -> Float[Array, "env augmentation"]:
        return jnp.tile(self._actor.initial(), (self.num_envs, 1))


class Recording:
    """What a policy does in its lane during one `collect`, written step by step into rows of results."""

    def __init__(
        self,
        lane: Lane,
        theta: Float[Array, " p"],
        noise: Float[np.ndarray, "time env act"],
        results: Float[np.ndarray, "time+1 env results"],
    ) -> None:
        self._lane, self._theta, self._results = lane, theta, results
        # The last step's action is never taken: the next rollout's policy is another.
        self._noise = np.concatenate([noise[1:], noise[:1]])
        self._now = results[0]
        self._now[:] = np.asarray(lane.first_action(theta, noise[0]))
        self._t = 0

    @property
    def actions(self) -> Float[np.ndarray, "env act"]:
        """To be taken next."""
        return self._now[:, self._lane.policy.executed]

    def advance(self) -> None:
        """The simulations have moved: begin to work out what that did."""
        self._coming = self._lane.advance_and_act(self._theta, self._noise[self._t])

    def finish(self, reasons: dict[int, str]) -> list[Divergence]:
        """Wait for the results, write them down, and begin the next episodes. Says which simulations broke down."""
        self._t += 1
        self._now = self._results[self._t]
        self._now[:] = np.asarray(self._coming)
        at = self._lane.policy.record.at
        done = (self._now[:, at["terminated"]] > 0) | (self._now[:, at["truncated"]] > 0)
        return self._lane.end(done, self._now[:, at["diverged"]] > 0, reasons) if done.any() else []
