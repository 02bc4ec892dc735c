"""The native engine: many simulations of one model on the host's threads, the task as one compiled JAX program.

An episode is a pure function of (seed, number of the episode, actions): how many environments, threads or players run
beside it changes no bit.

A step is the physics (`mujoco.batch`: ten substeps, then a forward pass) and one JAX call for each player (ghosts,
reward, costs, observation, and the reset of finished episodes). Sensors are switched off during the substeps, since
only those of the forward pass are read; that more than pays for it.
"""

import functools
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Integer

from ascpo.engines.divergence import Divergence
from ascpo.engines.lane import Lane, Take
from ascpo.engines.of_task import OfTask
from ascpo.engines.programs import Reader, programs_of
from ascpo.engines.rollout import Actor, Cast, Origin, Rollout, Snapshot
from ascpo.engines.simulation import Simulator
from ascpo.engines.succession import Endless, Listed
from ascpo.guard.layout import AnyArray, Layout
from ascpo.guard.task import Memory, Outcome, Task

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_log = logging.getLogger(__name__)


def _on_host(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """On the host's CPU, whatever there is beside it: to call a GPU at every step would cost more than the physics."""

    @functools.wraps(function)
    def hosted(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        if jax.default_backend() == "cpu":
            return function(*args, **kwargs)
        with jax.default_device(jax.local_devices(backend="cpu")[0]):
            return function(*args, **kwargs)

    return hosted


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


class NativeEngine(OfTask):
    """Environments of one task, stepped together: in one lane, or in one for each player."""

    @_on_host
    def __init__(self, task: Task, num_envs: int, num_threads: int = 0) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs={num_envs}: ask for at least one environment.")
        if num_threads < 0:
            raise ValueError(f"num_threads={num_threads}: ask for at least one thread, or 0 for one per core.")
        self.task = task
        self.num_envs = num_envs
        """Of all players together."""
        self.divergences: deque[Divergence] = deque(maxlen=1000)
        """The latest simulations that broke down. Environments are counted within their player's."""
        self.after_physics: Callable[[], None] | None = None
        """Called when the simulations have moved, before those that reached an end begin anew."""
        self._simulator = Simulator(task, num_envs, num_threads)
        self._lanes = [Lane(task, self._simulator, Endless(task, np.zeros(num_envs, np.uint32)))]
        self._sizes: tuple[int, ...] = (1,)
        """Players in each cast."""
        self._read = programs_of(task).read

    @property
    def remarks(self) -> tuple[str, ...]:
        return ()

    @property
    def num_threads(self) -> int:
        return self._simulator.batch.nthread

    @property
    def seeds(self) -> Integer[np.ndarray, " env"]:
        return np.concatenate([lane.succession.seeds for lane in self._lanes])

    @property
    def episodes(self) -> Int[np.ndarray, " env"]:
        """The number of each environment's running episode."""
        return np.concatenate([lane.succession.episodes for lane in self._lanes])

    @property
    @_on_host
    def memory(self) -> Memory:
        """What the task remembers of every environment: scenes, distances, step counts, observations."""
        return jax.tree.map(lambda *parts: np.concatenate(parts), *(lane.memory for lane in self._lanes))

    def data(self, env: int) -> mujoco.MjData:
        """One simulation's state, in the frame of its robot's start."""
        return self._simulator.batch.get_data(env)

    def live(self, field: str) -> np.ndarray:
        """A field of all simulations (`qpos`, say), a row each, as it is now and will be: it changes with them."""
        return self._simulator.batch.bind(field)

    @_on_host
    def start(self, seeds: Integer[np.ndarray, " env"]) -> Float[np.ndarray, "env obs"]:
        """Begin the first episode of each seed, and return the observations."""
        self._open([Lane(self.task, self._simulator, Endless(self.task, seeds))])
        return self._observations()

    @_on_host
    def restart(self, which: Bool[np.ndarray, " env"]) -> Float[np.ndarray, "env obs"]:
        """Begin the next episode of the environments named, and return all observations."""
        self._lane.restart(which)
        return self._observations()

    @_on_host
    def place(self, layout: Layout) -> Float[np.ndarray, "env obs"]:
        """Begin an episode in the same given scene in every environment, and return the observations."""
        self._lane.place(layout)
        return self._observations()

    @_on_host
    def step(self, actions: Float[np.ndarray, "env act"]) -> Step:
        """One step of every environment. Episodes that end begin anew in the same step."""
        lane, reasons = self._lane, self._move(actions)
        step = Step(np.asarray(lane.advance()), self._read)
        if step.read.any_ended(step.results):
            done, diverged = np.flatnonzero(step.outcome.done), np.flatnonzero(step.outcome.diverged)
            step.divergences = self._noted(lane.end(done, diverged, reasons))
        return step

    def begin(self, actor: Actor, seed: int) -> None:
        """Begin a first episode everywhere, for a policy to act in: environment i has the seed seed + i."""
        self.begin_together([Cast(actor, (seed,))])

    @_on_host
    def begin_at(self, actor: Actor, origins: Sequence[Origin]) -> None:
        self._open([Lane(self.task, self._simulator, Listed(self.task, origins, self.num_envs), actor)])

    def cut(self) -> None:
        """Break all episodes off and begin new ones."""
        self.cut_together()

    def collect(self, theta: Float[Array, " p"], noise: Float[np.ndarray, "time env act"]) -> Rollout:
        """Let the policy act for as many steps as there is noise for. Episodes that end begin anew."""
        (take,) = self._play([(self._lane, theta, noise)])
        return take.rollout()

    def snapshot(self) -> Snapshot:
        return self._lane.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        self.restore_together([snapshot])

    def close(self) -> None:
        """Nothing is held."""

    @_on_host
    def begin_together(self, casts: Sequence[Cast]) -> None:
        players = [(cast.actor, seed) for cast in casts for seed in cast.seeds]
        if not players or self.num_envs % len(players):
            raise ValueError(
                f"{self.num_envs} environments cannot be shared equally by {len(players)} players. "
                f"Ask for a multiple of {max(1, len(players))}."
            )
        each = self.num_envs // len(players)
        lanes = [
            Lane(self.task, self._simulator, Endless(self.task, (seed + np.arange(each)) % 2**32), actor, i * each)
            for i, (actor, seed) in enumerate(players)
        ]
        self._open(lanes, tuple(len(cast.seeds) for cast in casts))

    def collect_together(
        self, thetas: Sequence[Float[Array, "_seeds _p"]], noises: Sequence[Float[AnyArray, "_seeds _time env act"]]
    ) -> list[Rollout]:
        by_player = ([one for of_cast in every for one in np.asarray(of_cast)] for every in (thetas, noises))
        takes = iter(self._play(zip(self._lanes, *by_player, strict=True)))
        # Out here, where the learner's device is the default.
        casts = [[next(takes).rollout() for _ in range(size)] for size in self._sizes]
        return [jax.tree.map(lambda *seeds: jnp.stack(seeds), *rollouts) for rollouts in casts]

    @_on_host
    def cut_together(self) -> None:
        for lane in self._lanes:
            lane.cut()

    def snapshots(self) -> Callable[[int], Snapshot]:
        return [lane.snapshot() for lane in self._lanes].__getitem__

    @_on_host
    def restore_together(self, snapshots: Sequence[Snapshot]) -> None:
        if len(snapshots) != len(self._lanes):
            raise ValueError(
                f"{len(snapshots)} snapshots are not one for each of {len(self._lanes)} players. "
                f"Begin with the casts that were copied."
            )
        for lane, snapshot in zip(self._lanes, snapshots, strict=True):
            lane.restore(snapshot)

    @property
    def _lane(self) -> Lane:
        """The only one."""
        if len(self._lanes) > 1:
            raise RuntimeError(
                f"{len(self._lanes)} players share this engine. Use what is called together, or begin with one player."
            )
        return self._lanes[0]

    def _open(self, lanes: list[Lane], sizes: tuple[int, ...] = (1,)) -> None:
        """Begin the first episode everywhere."""
        self._lanes, self._sizes = lanes, sizes
        self.cut_together()

    def _observations(self) -> Float[np.ndarray, "env obs"]:
        return np.array(self.memory.observation, np.float32)

    @_on_host
    def _play(self, shares: Iterable[tuple[Lane, AnyArray, AnyArray]]) -> list[Take]:
        """All players act, for as many steps as there is noise for. A share is a lane, its parameters and its noise."""
        takes = [Take(lane, jnp.asarray(np.asarray(theta)), np.asarray(noise)) for lane, theta, noise in shares]
        steps = {len(take) for take in takes}
        if len(steps) > 1:
            raise ValueError(f"There is noise for {sorted(steps)} steps. Give every player as much.")
        for _ in range(steps.pop()):
            reasons = self._move(np.concatenate([take.actions for take in takes]))
            # All are set off before any is waited for: so their programs run side by side.
            for take in takes:
                take.set_off()
            for take in takes:
                self._noted(take.catch_up(reasons))
        return takes

    def _move(self, actions: Float[np.ndarray, "env act"]) -> dict[int, str]:
        reasons = self._simulator.step(actions)
        if self.after_physics is not None:
            self.after_physics()
        return reasons

    def _noted(self, found: tuple[Divergence, ...]) -> tuple[Divergence, ...]:
        for divergence in found:
            _log.warning("%s", divergence)
        self.divergences.extend(found)
        return found
