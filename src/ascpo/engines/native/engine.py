"""The native engine: many simulations of one model on the host's threads, the task as one compiled JAX program.

An episode is a pure function of (seed, number of the episode, actions): how many environments, threads or runs there
are beside it changes no bit.

A step is the physics (`mujoco.batch`: ten substeps, then a forward pass) and one JAX call for each run (ghosts,
reward, costs, observation, and the reset of finished episodes). Sensors are switched off during the substeps, since
only those of the forward pass are read; that more than pays for it.
"""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, Integer

from ascpo.engines.actor import Actor
from ascpo.engines.contract import EpisodeId, Rollout, RunBatch, Snapshot, check_snapshots
from ascpo.engines.divergence import Divergences
from ascpo.engines.native.host import on_host
from ascpo.engines.native.lane import Lane, Recording
from ascpo.engines.native.schedule import ListSchedule, SeedSchedule
from ascpo.engines.native.simulator import Simulator
from ascpo.engines.task_sizes import TaskSizes
from ascpo.guard.layout import AnyArray
from ascpo.guard.task import Memory, Task


class NativeEngine(TaskSizes):
    """Environments of one task, moved together, in which policies act. They are shared equally by all runs."""

    max_runs: int | None = None
    notes: tuple[str, ...] = ()

    @on_host
    def __init__(self, task: Task, num_envs: int, num_threads: int = 0) -> None:
        self.task = task
        self.num_envs = num_envs
        """Of all runs together."""
        self.divergences = Divergences()
        self.after_physics: Callable[[], None] | None = None
        """Called when the simulations have moved, before those that reached an end begin anew."""
        self._simulator = Simulator(task, num_envs, num_threads)
        self._batches: list[list[Lane]] = []
        """A lane for each run."""

    @property
    def envs_per_run(self) -> int:
        return self.num_envs // max(1, len(self._lanes))

    @property
    def num_threads(self) -> int:
        return self._simulator.batch.nthread

    @property
    def seeds(self) -> Integer[np.ndarray, " env"]:
        return np.concatenate([lane.schedule.seeds for lane in self._lanes])

    @property
    def episodes(self) -> Int[np.ndarray, " env"]:
        """The number of each environment's running episode."""
        return np.concatenate([lane.schedule.episodes for lane in self._lanes])

    @property
    @on_host
    def memory(self) -> Memory:
        """What the task remembers of every environment: scenes, distances, step counts, observations."""
        return jax.tree.map(lambda *parts: np.concatenate(parts), *(lane.memory for lane in self._lanes))

    def live(self, field: str) -> np.ndarray:
        """A field of all simulations (`qpos`, say), a row each, as it is now and will be: it changes with them."""
        return self._simulator.batch.bind(field)

    @on_host
    def start(self, batches: Sequence[RunBatch]) -> None:
        """Begin the first episode everywhere: a run's environment i has the seed seed + i."""
        runs = sum(map(len, batches))
        if not runs or self.num_envs % runs:
            raise ValueError(
                f"{self.num_envs} environments cannot be shared equally by {runs} runs. "
                f"Ask for a multiple of {max(1, runs)}."
            )
        each, lanes = self.num_envs // runs, []
        for batch in batches:
            for seed in batch.seeds:
                schedule = SeedSchedule(self.task, (seed + np.arange(each)) % 2**32)
                lanes.append(Lane(self.task, self._simulator, schedule, batch.actor, len(lanes) * each))
        rest = iter(lanes)
        self._open([[next(rest) for _ in batch.seeds] for batch in batches])

    @on_host
    def start_at(self, actor: Actor, episodes: Sequence[EpisodeId]) -> None:
        schedule = ListSchedule(self.task, episodes, self.num_envs)
        self._open([[Lane(self.task, self._simulator, schedule, actor)]])

    @on_host
    def cut(self) -> None:
        for lane in self._lanes:
            lane.cut()

    @on_host
    def collect(
        self, thetas: Sequence[Float[AnyArray, "_run _p"]], noises: Sequence[Float[AnyArray, "_run _time env act"]]
    ) -> list[Rollout]:
        steps = {noise.shape[1] for noise in noises}
        if len(steps) != 1:
            raise ValueError(f"There is noise for {sorted(steps)} steps. Give every run as much.")
        results, recordings = [], []
        for lanes, theta, noise in zip(self._batches, thetas, noises, strict=True):
            width = lanes[0].policy.record.width
            results.append(np.empty((len(lanes), noise.shape[1] + 1, self.envs_per_run, width), np.float32))
            runs = zip(lanes, np.asarray(theta), np.asarray(noise), results[-1], strict=True)
            recordings += [Recording(lane, jnp.asarray(theta), *rest) for lane, theta, *rest in runs]
        for _ in range(steps.pop()):
            reasons = self._simulator.step(np.concatenate([recording.actions for recording in recordings]))
            if self.after_physics is not None:
                self.after_physics()
            # All programs are set off before any is waited for: so they run side by side.
            for recording in recordings:
                recording.advance()
            for recording in recordings:
                self.divergences.report(recording.finish(reasons))
        return [lanes[0].policy.rollout(rows) for lanes, rows in zip(self._batches, results, strict=True)]

    def snapshots(self) -> Callable[[int], Snapshot]:
        return [lane.snapshot() for lane in self._lanes].__getitem__

    @on_host
    def restore(self, snapshots: Sequence[Snapshot]) -> None:
        check_snapshots(snapshots, len(self._lanes))
        for lane, snapshot in zip(self._lanes, snapshots, strict=True):
            lane.restore(snapshot)

    def close(self) -> None:
        """Nothing is held."""

    @property
    def _lanes(self) -> list[Lane]:
        return [lane for lanes in self._batches for lane in lanes]

    def _open(self, batches: list[list[Lane]]) -> None:
        """Begin the first episode everywhere."""
        self._batches = batches
        self.cut()
