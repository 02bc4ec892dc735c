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
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, Integer
from mujoco.batch import Batch, SimulationError

from ascpo.engines.rollout import Actor, Bounds, Origin, Playlist, Rollout, Snapshot
from ascpo.guard.actuation import thrust
from ascpo.guard.layout import Layout, draw_many, keys_for
from ascpo.guard.model import SUBSTEPS
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
    read: "_Reader"
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
        self._programs = _programs(task)
        self._simulator = _Simulator(task, num_envs, num_threads)
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
        programs = _acting(self.task, self._actor)
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
            begun, places = _programs(task).begin(draw_many(task.rules, keys))
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


class _Simulator:
    """The physics of all environments, and what their sensors read."""

    def __init__(self, task: Task, num_envs: int, num_threads: int) -> None:
        self._task = task
        self.batch = Batch(task.model, num_envs, num_threads)
        self.sensors: Float[np.ndarray, "env sensors"] = np.tile(task.start.sensors, (num_envs, 1))
        """After the last step; NaN where the simulation broke down."""
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
        """Put simulations back to the start, with pillars at these places."""
        self.batch.state[which] = self._task.start.state
        self.sensors[which] = self._task.start.sensors
        self.steps[which] = 0
        if self._task.suite.pillars:
            self.batch.bind("mocap_pos")[which] = pillars

    def snapshot(self) -> Snapshot:
        return {"physics": self.batch.state.copy(), "sensors": self.sensors.copy(), "steps": self.steps.copy()}

    def restore(self, snapshot: Snapshot) -> None:
        self.batch.state[:] = snapshot["physics"]
        self.sensors[:], self.steps[:] = snapshot["sensors"], snapshot["steps"]

    def step(self, actions: Float[np.ndarray, "env act"]) -> dict[int, str]:
        """Apply the actions for one step and read the sensors. Tells which simulations broke down, and why."""
        self._command(actions)
        reasons = self._substeps()
        self.steps += 1
        warned = self.batch.warning[:, :, 1]
        if warned.any():
            # MuJoCo has put a diverged state back to the start: the robot would seem to teleport.
            for i in np.flatnonzero(warned.any(axis=1)):
                names = [mujoco.mjtWarning(k).name.removeprefix("mjWARN_") for k in np.flatnonzero(warned[i])]
                reasons.setdefault(int(i), f"MuJoCo warned of {', '.join(names)}")
            self.batch.warning[:] = 0
        size = self._sensordata.shape[1]
        self.sensors[:, :size] = self._sensordata
        if self._task.suite.moves:
            self.sensors[:, size:] = self._places[:, :, self._tracked].reshape(len(self.sensors), -1)
        if reasons:
            self.sensors[list(reasons)] = np.nan
        return reasons

    def _command(self, actions: Float[np.ndarray, "env act"]) -> None:
        if not self._rotors:
            self._controls[:] = actions
            return
        offsets = self._task.plan.offsets
        w, x, y, z = self.sensors[:, offsets["attitude"]].T
        axis = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=-1)
        height = self.sensors[:, offsets["position"]][:, 2]
        self._controls[:, self._rotors, :3] = thrust(actions, axis, height, self._mass)

    def _substeps(self) -> dict[int, str]:
        """Ten substeps without sensors, and a forward pass with them."""
        reasons: dict[int, str] = {}
        substeps = functools.partial(self.batch.step, nstep=SUBSTEPS)
        if self._task.suite.moves:
            # Ghosts follow the robot substep by substep, so its path is recorded.
            substeps = functools.partial(self.batch.rollout, SUBSTEPS, record=("xpos",), out={"xpos": self._places})
        for flags, call in ((_SENSORS_OFF, substeps), (0, self.batch.forward)):
            self._flags[:] = self._all_on | flags
            try:
                call()
            except SimulationError as error:
                reasons |= {int(i): self.batch.error(int(i)) for i in error.ids}
        return reasons


_SENSORS_OFF = int(mujoco.mjtDisableBit.mjDSBL_SENSOR)


@dataclass(frozen=True)
class _Reader:
    """Where things are in the results of a step: next observation, last observation, four flags, reward, costs."""

    obs: int
    m: int

    def observation(self, results: Float[np.ndarray, "env results"]) -> Float[np.ndarray, "env obs"]:
        return results[:, : self.obs]

    def any_ended(self, results: Float[np.ndarray, "env results"]) -> bool:
        return bool(self._flags(results).any())

    def outcome(self, results: Float[np.ndarray, "env results"]) -> Outcome:
        terminated, truncated, goal_met, diverged = self._flags(results).T > 0
        last, reward, costs = results[:, self.obs : 2 * self.obs], results[:, -self.m - 1], results[:, -self.m :]
        return Outcome(last, reward, costs, terminated, truncated, goal_met, diverged)

    def _flags(self, results: Float[np.ndarray, "env results"]) -> Float[np.ndarray, "env 4"]:
        return results[:, 2 * self.obs : 2 * self.obs + 4]


@dataclass(frozen=True)
class _Programs:
    """The compiled programs of a task, on packed memories. All engines of the task share them."""

    width: int
    begin: Callable[[Layout], tuple[Float[Array, "env packed"], Float[Array, "env pillars 3"]]]
    advance: Callable[..., tuple[Float[Array, "env packed"], Float[Array, "env results"]]]
    renew: Callable[..., Float[Array, "env packed"]]
    unpack: Callable[[Float[Array, "env packed"]], Memory]
    read: _Reader


@dataclass(frozen=True)
class _Row:
    """A task's memory as one row of numbers."""

    width: int
    unpack: Callable[[Float[Array, " packed"]], Memory]

    def pack(self, memory: Memory) -> Float[Array, " packed"]:
        return ravel_pytree(memory)[0]


def _row(task: Task) -> _Row:
    blank = Layout(jnp.zeros(2), jnp.zeros(()), jnp.zeros(3), jnp.zeros((task.suite.count, 3)))
    observation = jnp.zeros(task.observer.size)
    example, unpack = ravel_pytree(Memory(blank, jnp.zeros(()), jnp.zeros((), jnp.int32), observation))
    return _Row(example.size, unpack)


@functools.cache
def _programs(task: Task) -> _Programs:
    m, obs, task_row = len(task.suite.obstacles), task.observer.size, _row(task)
    pack, unpack = task_row.pack, task_row.unpack

    def begin(layout: Layout) -> tuple[Float[Array, " packed"], Float[Array, "pillars 3"]]:
        return pack(task.begin(layout)), task.pillars_from_start(layout)

    def renew(
        row: Float[Array, " packed"], which: Bool[Array, ""], ahead: Float[Array, "block packed"], used: Int[Array, ""]
    ) -> Float[Array, " packed"]:
        return jnp.where(which, ahead[used], row)

    def advance(
        row: Float[Array, " packed"],
        sensors: Float[Array, " sensors"],
        ahead: Float[Array, "block packed"],
        used: Int[Array, ""],
    ) -> tuple[Float[Array, " packed"], Float[Array, " results"]]:
        memory, outcome = task.advance(unpack(row), sensors)
        row = renew(pack(memory), outcome.done, ahead, used)
        flags = jnp.stack([outcome.terminated, outcome.truncated, outcome.goal_met, outcome.diverged])
        results = [unpack(row).observation, outcome.observation, flags, outcome.reward[None], outcome.costs]
        return row, jnp.concatenate([jnp.asarray(result, jnp.float32) for result in results])

    def batched(program: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        return jax.jit(jax.vmap(program), **options)

    return _Programs(
        width=task_row.width,
        begin=batched(begin),
        advance=batched(advance, donate_argnums=0),
        renew=batched(renew),
        unpack=batched(unpack),
        read=_Reader(obs, m),
    )


@dataclass(frozen=True)
class _Acting:
    """The compiled programs of a task in which a policy acts.

    A step's results lie side by side: the next view, the next action, the same as the shield leaves it if there is one,
    the last view, four flags, reward, costs.
    """

    view: int
    act: int
    m: int
    shielded: bool
    first: Callable[..., Float[Array, "env results"]]
    advance: Callable[..., tuple[Float[Array, "env packed"], Float[Array, "env memory"], Float[Array, "env results"]]]

    @property
    def width(self) -> int:
        return self.seen + self.view + 4 + 1 + self.m

    @property
    def seen(self) -> int:
        """The width of what is seen and done next."""
        return self.view + self.act * (2 if self.shielded else 1)

    @property
    def action(self) -> slice:
        return slice(self.view, self.view + self.act)

    @property
    def taken(self) -> slice:
        return slice(self.seen - self.act, self.seen)

    @property
    def flags(self) -> slice:
        start = self.seen + self.view
        return slice(start, start + 4)

    def rollout(self, first: Float[np.ndarray, "env seen"], steps: Float[np.ndarray, "time env results"]) -> Rollout:
        """Views and actions belong to the step that follows them."""
        seen = np.concatenate([first[None], steps[:-1, :, : self.seen]])
        flags = steps[..., self.flags] > 0
        terminated = flags[..., 0]
        return jax.tree.map(
            jnp.asarray,
            Rollout(
                view=seen[..., : self.view],
                next_view=steps[..., self.seen : self.seen + self.view],
                action=seen[..., self.action],
                reward=steps[..., -self.m - 1],
                cost=steps[..., -self.m :],
                terminated=terminated,
                truncated=flags[..., 1] & ~terminated,
                taken=seen[..., self.taken] if self.shielded else None,
            ),
        )


@functools.lru_cache(maxsize=8)
def _acting(task: Task, actor: Actor) -> _Acting:
    obs, m = task.observer.size, len(task.suite.obstacles)
    memories, act = len(actor.start), task.suite.robot.actions
    task_row = _row(task)

    def see(
        theta: Float[Array, " p"],
        row: Float[Array, " packed"],
        memory: Float[Array, " memory"],
        noise: Float[Array, " act"],
    ) -> list[Float[Array, " n"]]:
        view = jnp.concatenate([task_row.unpack(row).observation, memory])
        drawn, taken = actor.both(theta, view, noise)
        return [view, drawn] if actor.shield is None else [view, drawn, taken]

    def first(theta: Any, row: Any, memory: Any, noise: Any) -> Float[Array, " seen"]:
        return jnp.concatenate(see(theta, row, memory, noise))

    def advance(
        theta: Float[Array, " p"],
        row: Float[Array, " packed"],
        memory: Float[Array, " memory"],
        sensors: Float[Array, " sensors"],
        ahead: Float[Array, "block packed"],
        used: Int[Array, ""],
        noise: Float[Array, " act"],
    ) -> tuple[Float[Array, " packed"], Float[Array, " memory"], Float[Array, " results"]]:
        after, outcome = task.advance(task_row.unpack(row), sensors)
        remembered = actor.after(memory, outcome.costs)
        last = jnp.concatenate([outcome.observation, remembered])
        row = jnp.where(outcome.done, ahead[used], task_row.pack(after))
        memory = jnp.where(outcome.done, actor.fresh(), remembered)
        seen = see(theta, row, memory, noise)
        flags = jnp.stack([outcome.terminated, outcome.truncated, outcome.goal_met, outcome.diverged])
        results = [*seen, last, flags, outcome.reward[None], outcome.costs]
        return row, memory, jnp.concatenate([jnp.asarray(result, jnp.float32) for result in results])

    return _Acting(
        view=obs + memories,
        act=act,
        m=m,
        shielded=actor.shield is not None,
        first=jax.jit(jax.vmap(first, in_axes=(None, 0, 0, 0))),
        advance=jax.jit(jax.vmap(advance, in_axes=(None, 0, 0, 0, 0, 0, 0)), donate_argnums=(1, 2)),
    )
