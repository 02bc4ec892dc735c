"""A lane: neighbouring environments of the native engine, their episodes, and the policy that acts in them.

The simulator moves all lanes at once. Everything else is a lane's own, and goes through the same compiled programs
with the same shapes as if the lane were alone: company changes no bit.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ascpo.engines.divergence import NOT_FINITE, Divergence
from ascpo.engines.programs import Acting, acting_of, programs_of
from ascpo.engines.rollout import SCRIPTED, Actor, Rollout, Snapshot
from ascpo.engines.simulation import Simulator
from ascpo.engines.succession import Endless, Succession
from ascpo.guard.layout import Layout
from ascpo.guard.task import Memory, Task


class Lane:
    """Environments are counted within the lane; it begins at the simulation `first`."""

    def __init__(
        self, task: Task, simulator: Simulator, succession: Succession, actor: Actor = SCRIPTED, first: int = 0
    ) -> None:
        self.succession = succession
        self.num_envs = len(succession.seeds)
        self._task, self._actor = task, actor
        self._programs = programs_of(task)
        self._simulator = simulator
        self._where = slice(first, first + self.num_envs)
        # One row per environment holds its `Memory`, packed: a call with few arrays costs less than one with many.
        self._rows: Float[Array, "env packed"] = jnp.zeros((self.num_envs, self._programs.width))
        self._memories = self._fresh()

    @functools.cached_property
    def acting(self) -> Acting:
        return acting_of(self._task, self._actor)

    @property
    def memory(self) -> Memory:
        """What the task remembers of every environment."""
        return jax.tree.map(np.asarray, self._programs.unpack(self._rows))

    def restart(self, which: Bool[np.ndarray, " env"]) -> None:
        """Begin the next episode of the environments named. What a policy remembers is left alone."""
        self._rows = self._programs.renew(self._rows, which, self.succession.ahead, self.succession.used)
        self._begin(np.flatnonzero(which))

    def cut(self) -> None:
        """Break all episodes off and begin new ones."""
        self.restart(np.ones(self.num_envs, bool))
        self._memories = self._fresh()

    def place(self, layout: Layout) -> None:
        """Begin an episode in the same given scene in every environment."""
        everywhere = jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf)[None], self.num_envs, axis=0), layout)
        self._rows, pillars = self._programs.begin(everywhere)
        self._simulator.reset(self._where.start + np.arange(self.num_envs), np.asarray(pillars))

    def advance(self) -> Float[Array, "env results"]:
        """What the step did that the simulations have taken, for nobody to act on."""
        self._rows, results = self._programs.advance(
            self._rows, self._simulator.sensors[self._where], self.succession.ahead, self.succession.used
        )
        return results

    def see(self, theta: Float[Array, " p"], noise: Float[np.ndarray, "env act"]) -> Float[Array, "env seen"]:
        """What the policy sees now, and does."""
        return self.acting.first(theta, self._rows, self._memories, noise)

    def advance_and_see(
        self, theta: Float[Array, " p"], noise: Float[np.ndarray, "env act"]
    ) -> Float[Array, "env results"]:
        """What the step did that the simulations have taken, and what the policy sees and does next."""
        self._rows, self._memories, results = self.acting.advance(
            theta,
            self._rows,
            self._memories,
            self._simulator.sensors[self._where],
            self.succession.ahead,
            self.succession.used,
            noise,
        )
        return results

    def end(
        self, done: Int[np.ndarray, " n"], diverged: Int[np.ndarray, " k"], reasons: dict[int, str]
    ) -> tuple[Divergence, ...]:
        """After a step: put simulations whose episodes are done back to the start, and tell which broke down.

        The task has begun the next episodes already. `reasons` are by simulation.
        """
        found = tuple(
            Divergence(
                env=int(i),
                seed=int(self.succession.seeds[i]),
                episode=int(self.succession.episodes[i]),
                step=int(self._simulator.steps[self._where.start + i]),
                reason=reasons.get(self._where.start + int(i), NOT_FINITE),
            )
            for i in diverged
        )
        self._begin(done)
        return found

    def snapshot(self) -> Snapshot:
        following = self.succession
        if not isinstance(following, Endless):
            raise ValueError("A list of episodes is being played. Begin it again: it has no snapshot.")
        # Copies: rows and memories are given away to the next step's program.
        return {
            "seeds": following.seeds.copy(),
            "episodes": following.episodes.copy(),
            "used": following.taken.copy(),
            "rows": np.array(self._rows),
            "memories": np.array(self._memories),
        } | self._simulator.snapshot(self._where)

    def restore(self, snapshot: Snapshot) -> None:
        arrays = {name: np.asarray(value) for name, value in snapshot.items()}
        if len(arrays["seeds"]) != self.num_envs:
            raise ValueError(
                f"The snapshot is of {len(arrays['seeds'])} environments, and a player has {self.num_envs} here. "
                f"Ask for as many as were copied."
            )
        # The layouts ahead are drawn again, from the episode after which they were drawn.
        self.succession = Endless(self._task, arrays["seeds"], arrays["episodes"], arrays["used"])
        self._rows, self._memories = jnp.array(arrays["rows"]), jnp.array(arrays["memories"])
        self._simulator.restore(self._where, arrays)

    def _begin(self, which: Int[np.ndarray, " n"]) -> None:
        """Put simulations back to the start, for episodes that the task has begun already."""
        self._simulator.reset(self._where.start + which, self.succession.take(which))

    def _fresh(self) -> Float[Array, "env memory"]:
        return jnp.tile(self._actor.fresh(), (self.num_envs, 1))


class Take:
    """What a policy does in its lane during one `collect`, step by step."""

    def __init__(self, lane: Lane, theta: Float[Array, " p"], noise: Float[np.ndarray, "time env act"]) -> None:
        self._lane, self._theta = lane, theta
        # The last step's action is never taken: the next rollout's policy is another.
        self._ahead = np.concatenate([noise[1:], noise[:1]])
        self._steps = np.empty((len(noise), lane.num_envs, lane.acting.width), np.float32)
        self._first = self._seen = np.asarray(lane.see(theta, noise[0]))
        self._t = 0

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def actions(self) -> Float[np.ndarray, "env act"]:
        """To be taken next."""
        return self._seen[:, self._lane.acting.taken]

    def set_off(self) -> None:
        """The simulations have moved: begin to work out what that did."""
        self._coming = self._lane.advance_and_see(self._theta, self._ahead[self._t])

    def catch_up(self, reasons: dict[int, str]) -> tuple[Divergence, ...]:
        """Wait for it, write it down, and begin the next episodes. Tells which simulations broke down."""
        self._steps[self._t] = self._seen = np.asarray(self._coming)
        self._t += 1
        flags = self._seen[:, self._lane.acting.flags]
        if not flags.any():
            return ()
        return self._lane.end(np.flatnonzero(flags[:, :2].any(axis=1)), np.flatnonzero(flags[:, _DIVERGED]), reasons)

    def rollout(self) -> Rollout:
        return self._lane.acting.rollout(self._first, self._steps)


_DIVERGED = 3
"""Place among the flags of a step."""
