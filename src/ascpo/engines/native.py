"""The native engine: many simulations of one model on the host's threads, the task as one compiled JAX program.

An episode is a pure function of (seed, number of the episode, actions): how many environments or threads run beside
it changes no bit.

A step is the physics (`mujoco.batch`: ten substeps, then a forward pass) and one JAX call (ghosts, reward, costs,
observation, and the reset of finished episodes). Sensors are switched off during the substeps, since only those of
the forward pass are read; that more than pays for it.
"""

import functools
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Integer

from ascpo.engines.programs import Reader, acting_of, programs_of
from ascpo.engines.rollout import Actor, Bounds, Origin, Playlist, Rollout, Snapshot
from ascpo.engines.simulation import Simulator
from ascpo.guard.layout import Layout, draw_many, keys_for
from ascpo.guard.task import Memory, Outcome, Task

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Divergence:
    """A simulation that broke down, and where to find it again."""

    env: int
    seed: int
    episode: int
    step: int
    reason: str

    def __str__(self) -> str:
        return (
            f"The simulation broke down in environment {self.env} (seed {self.seed}, episode {self.episode}, "
            f"step {self.step}): {self.reason}."
        )


@dataclass
class Step:
    """A step of all environments, as NumPy arrays that are not to be written to."""

    results: Float[np.ndarray, "env results"]
    """Everything side by side: the next observation, and what the step did."""
    read: "Reader"
    divergences: tuple[Divergence, ...] = ()

    @property
    def observation(self) -> Float[np.ndarray, "env obs"]:
        """To act on next: of the new episode where one has just ended."""
        return self.read.observation(self.results)

    @functools.cached_property
    def outcome(self) -> Outcome:
        """What the step did; its observation is of the episode that was stepped."""
        return self.read.outcome(self.results)


class NativeEngine:
    """Environments of one task, stepped together."""

    def __init__(self, task: Task, num_envs: int, num_threads: int = 0) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs={num_envs}: ask for at least one environment.")
        if num_threads < 0:
            raise ValueError(f"num_threads={num_threads}: ask for at least one thread, or 0 for one per core.")
        self.task = task
        self.num_envs = num_envs
        self.divergences: deque[Divergence] = deque(maxlen=1000)
        """The latest simulations that broke down."""
        self.seeds: Integer[np.ndarray, " env"] = np.zeros(num_envs, np.uint32)
        self.episodes: Int[np.ndarray, " env"] = np.full(num_envs, -1, np.int64)
        """The number of each environment's running episode."""
        self.after_physics: Callable[[], None] | None = None
        """Called when the simulations have moved, before those that reached an end begin anew."""
        self._programs = programs_of(task)
        self._simulator = Simulator(task, num_envs, num_threads)
        self._block = max(2, min(16, 512 // num_envs))
        """Episodes drawn ahead, per environment."""
        self._list: _Episodes | None = None
        """What is played, if that was said beforehand."""
        # One row per environment holds its `Memory`, packed: a call with few arrays costs less than one with many.
        self._rows: Float[Array, "env packed"] = jnp.zeros((num_envs, self._programs.width))

    @property
    def observation_size(self) -> int:
        return self.task.observer.size

    @property
    def action_size(self) -> int:
        return self.task.suite.robot.actions

    @property
    def remarks(self) -> tuple[str, ...]:
        return ()

    @property
    def action_bounds(self) -> Bounds:
        ones = np.ones(self.action_size, np.float32)
        return -ones, ones

    @property
    def cost_names(self) -> tuple[str, ...]:
        return self.task.suite.cost_names

    @property
    def num_threads(self) -> int:
        return self._simulator.batch.nthread

    @property
    def memory(self) -> Memory:
        """What the task remembers of every environment: scenes, distances, step counts, observations."""
        return jax.tree.map(np.asarray, self._programs.unpack(self._rows))

    def data(self, env: int) -> mujoco.MjData:
        """One simulation's state, in the frame of its robot's start."""
        return self._simulator.batch.get_data(env)

    def live(self, field: str) -> np.ndarray:
        """A field of all simulations (`qpos`, say), a row each, as it is now and will be: it changes with them."""
        return self._simulator.batch.bind(field)

    def start(self, seeds: Integer[np.ndarray, " env"]) -> Float[np.ndarray, "env obs"]:
        """Begin the first episode of each seed, and return the observations."""
        self._list = None
        self.seeds = np.asarray(seeds).astype(np.uint32)
        self.episodes = np.full(self.num_envs, -1, np.int64)
        self._draw_ahead()
        return self.restart(np.ones(self.num_envs, bool))

    def restart(self, which: Bool[np.ndarray, " env"]) -> Float[np.ndarray, "env obs"]:
        """Begin the next episode of the environments named, and return all observations."""
        self._rows = self._programs.renew(self._rows, which, self._ahead, self._used_on_device)
        self._next_episode(np.flatnonzero(which))
        return np.array(self.memory.observation, np.float32)

    def place(self, layout: Layout) -> Float[np.ndarray, "env obs"]:
        """Begin an episode in the same given scene in every environment, and return the observations."""
        everywhere = jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf)[None], self.num_envs, axis=0), layout)
        self._rows, pillars = self._programs.begin(everywhere)
        self._simulator.reset(np.arange(self.num_envs), np.asarray(pillars))
        return np.array(self.memory.observation, np.float32)

    def step(self, actions: Float[np.ndarray, "env act"]) -> Step:
        """One step of every environment. Episodes that end begin anew in the same step."""
        reasons = self._move(actions)
        self._rows, packed = self._programs.advance(
            self._rows, self._simulator.sensors, self._ahead, self._used_on_device
        )
        step = Step(np.asarray(packed), self._programs.read)
        if step.read.any_ended(step.results):
            step.divergences = self._report(np.flatnonzero(step.outcome.diverged), reasons)
            self._next_episode(np.flatnonzero(step.outcome.done))
        return step

    def begin(self, actor: Actor, seed: int) -> None:
        """Begin a first episode everywhere, for a policy to act in: environment i has the seed seed + i."""
        self.start((seed + np.arange(self.num_envs)) % 2**32)
        self._let_act(actor)

    def begin_at(self, actor: Actor, origins: Sequence[Origin]) -> None:
        self._list, self._playlist = _Episodes.drawn(self.task, origins), Playlist(self.num_envs)
        self._used_on_device = np.zeros(self.num_envs, np.int32)
        everywhere = np.arange(self.num_envs)
        self._ahead = self._list.rows(everywhere)
        self._rows = self._programs.renew(self._rows, np.ones(self.num_envs, bool), self._ahead, self._used_on_device)
        self._take_from_list(everywhere)
        self._let_act(actor)

    def cut(self) -> None:
        """Break all episodes off and begin new ones."""
        self.restart(np.ones(self.num_envs, bool))
        self._memories = jnp.tile(self._actor.fresh(), (self.num_envs, 1))

    def collect(self, theta: Float[Array, " p"], noise: Float[np.ndarray, "time env act"]) -> Rollout:
        """Let the policy act for as many steps as there is noise for. Episodes that end begin anew."""
        programs = acting_of(self.task, self._actor)
        steps = np.empty((len(noise), self.num_envs, programs.width), np.float32)
        seen = np.asarray(programs.first(theta, self._rows, self._memories, noise[0]))
        first = seen
        # The last step's action is never taken: the next rollout's policy is another.
        ahead = np.concatenate([noise[1:], noise[:1]])
        taken = programs.taken
        for t in range(len(noise)):
            reasons = self._move(seen[:, taken])
            self._rows, self._memories, packed = programs.advance(
                theta, self._rows, self._memories, self._simulator.sensors, self._ahead, self._used_on_device, ahead[t]
            )
            steps[t] = seen = np.asarray(packed)
            flags = seen[:, programs.flags]
            if flags.any():
                self._report(np.flatnonzero(flags[:, _DIVERGED]), reasons)
                self._next_episode(np.flatnonzero(flags[:, :2].any(axis=1)))
        return programs.rollout(first, steps)

    def snapshot(self) -> Snapshot:
        # Copies: rows and memories are given away to the next step's program.
        return {
            "seeds": self.seeds.copy(),
            "episodes": self.episodes.copy(),
            "used": self._used.copy(),
            "rows": np.array(self._rows),
            "memories": np.array(self._memories),
        } | self._simulator.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        # The layouts ahead are drawn again, from the episode after which they were drawn.
        self.seeds, self.episodes = snapshot["seeds"].copy(), snapshot["episodes"] - snapshot["used"]
        self._draw_ahead()
        self.episodes, self._used = snapshot["episodes"].copy(), snapshot["used"].copy()
        self._used_on_device = jnp.asarray(self._used.copy())
        self._rows, self._memories = jnp.array(snapshot["rows"]), jnp.array(snapshot["memories"])
        self._simulator.restore(snapshot)

    def close(self) -> None:
        """Nothing is held."""

    def _move(self, actions: Float[np.ndarray, "env act"]) -> dict[int, str]:
        reasons = self._simulator.step(actions)
        if self.after_physics is not None:
            self.after_physics()
        return reasons

    def _let_act(self, actor: Actor) -> None:
        self._actor = actor
        self._memories = jnp.tile(actor.fresh(), (self.num_envs, 1))

    def _next_episode(self, which: Int[np.ndarray, " n"]) -> None:
        """Put simulations back to the start, for episodes that the task has begun already."""
        if self._list is not None:
            self._playlist.end(which)
            self._take_from_list(which)
            return
        self._simulator.reset(which, self._pillars[which, self._used[which]])
        self.episodes[which] += 1
        self._used[which] += 1
        if (self._used[which] >= self._block).any():
            self._draw_ahead()
        self._used_on_device = jnp.asarray(self._used.copy())

    def _take_from_list(self, which: Int[np.ndarray, " n"]) -> None:
        assert self._list is not None
        places = self._playlist.current[which]
        self._simulator.reset(which, self._list.pillars(places))
        self.seeds[which], self.episodes[which] = self._list.origins(places)
        self._ahead = self._list.rows(self._playlist.reserved)

    def _draw_ahead(self) -> None:
        """Draw the layouts of each environment's next episodes."""
        ahead = self.episodes[:, None] + 1 + np.arange(self._block)
        keys = keys_for(np.repeat(self.seeds, self._block), ahead.ravel())
        rows, pillars = self._programs.begin(draw_many(self.task.rules, keys))
        self._ahead = rows.reshape(self.num_envs, self._block, -1)
        self._pillars = np.asarray(pillars).reshape(self.num_envs, self._block, -1, 3)
        self._used = np.zeros(self.num_envs, np.int32)
        self._used_on_device = jnp.asarray(self._used.copy())

    def _report(self, which: Int[np.ndarray, " n"], reasons: dict[int, str]) -> tuple[Divergence, ...]:
        steps = self._simulator.steps
        found = tuple(
            Divergence(
                int(i), int(self.seeds[i]), int(self.episodes[i]), int(steps[i]), reasons.get(int(i), _NOT_FINITE)
            )
            for i in which
        )
        for divergence in found:
            _log.warning("%s", divergence)
        self.divergences.extend(found)
        return found


@dataclass(frozen=True)
class _Episodes:
    """The beginnings of a list of episodes. After the last one comes the first one again."""

    seeds: Integer[np.ndarray, " n"]
    numbers: Int[np.ndarray, " n"]
    begun: Float[np.ndarray, "n 1 packed"]
    places: Float[np.ndarray, "n pillars 3"]

    @staticmethod
    def drawn(task: Task, origins: Sequence[Origin], together: int = 512) -> "_Episodes":
        """Some together, always as many, so that it is compiled once."""
        seeds, numbers = np.array(origins, np.int64).T
        rows, pillars = [], []
        for first in range(0, len(seeds), together):
            some = np.arange(first, first + together) % len(seeds)
            keys = keys_for(seeds[some].astype(np.uint32), numbers[some])
            begun, places = programs_of(task).begin(draw_many(task.rules, keys))
            rows.append(np.asarray(begun))
            pillars.append(np.asarray(places))
        every, n = np.concatenate(rows), len(seeds)
        return _Episodes(seeds.astype(np.uint32), numbers, every[:n, None], np.concatenate(pillars)[:n])

    def rows(self, which: Int[np.ndarray, " k"]) -> Float[np.ndarray, "k 1 packed"]:
        return self.begun[which % len(self.seeds)]

    def pillars(self, which: Int[np.ndarray, " k"]) -> Float[np.ndarray, "k pillars 3"]:
        return self.places[which % len(self.seeds)]

    def origins(self, which: Int[np.ndarray, " k"]) -> tuple[Integer[np.ndarray, " k"], Int[np.ndarray, " k"]]:
        return self.seeds[which % len(self.seeds)], self.numbers[which % len(self.seeds)]


_DIVERGED = 3
"""Place among the flags of a step."""
_NOT_FINITE = "a sensor reads NaN or infinity"
