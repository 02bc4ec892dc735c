"""The native engine: many simulations of one model on the host's threads, the task as one compiled JAX program.

An episode is a pure function of (seed, number of the episode, actions), bit for bit. It does not depend on the number
of environments, threads or other runs.

A step is the physics (`mujoco.batch`: ten substeps, then a forward pass) and one JAX call for each run (ghosts,
reward, costs, observation, and the reset of finished episodes). Sensors are switched off during the substeps, because
only those of the forward pass are read. That saves more time than the forward pass takes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, Integer

from ascpo.engines.actor import Actor
from ascpo.engines.contract import Noises, Rollout, RunBatch, Snapshot, Thetas, check_snapshots
from ascpo.engines.divergence import Divergences
from ascpo.engines.native.host import on_host
from ascpo.engines.native.lane import Lane
from ascpo.engines.native.schedule import EpisodeSchedule, ListSchedule, ReplaySchedule, SeedSchedule
from ascpo.engines.native.simulator import Simulator
from ascpo.engines.replay import Scene, SceneChoice, ScenePool
from ascpo.engines.task_sizes import TaskSizes
from ascpo.guard.suites import consecutive
from ascpo.guard.task import Memory, Task
from ascpo.seeding import EnvSeeds, EpisodeId


class NativeEngine(TaskSizes):
    """Environments of one task that step together. All runs have an equal number of them."""

    max_runs: int | None = None
    notes: tuple[str, ...] = ()

    @on_host
    def __init__(self, task: Task, num_envs: int, num_threads: int = 0) -> None:
        self.task = task
        self.num_envs = num_envs
        """Of all runs together."""
        self.divergences = Divergences()
        self.after_physics: Callable[[], None] | None = None
        """Called after the simulations have stepped, before finished ones are reset."""
        self._simulator = Simulator(task, num_envs, num_threads)
        self._batches: list[list[Lane]] = []
        """A lane for each run."""

    @property
    def envs_per_run(self) -> int:
        return self.num_envs // max(1, len(self._lanes))

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
        """The task's memory of every environment: scenes, distances, step counts, observations."""
        return jax.tree.map(lambda *parts: np.concatenate(parts), *(lane.memory for lane in self._lanes))

    def live(self, field: str) -> np.ndarray:
        """A field of all simulations, such as `qpos`, with a row each. It is a view that changes with them."""
        return self._simulator.batch.bind(field)

    @on_host
    def start(self, batches: Sequence[RunBatch]) -> None:
        """Start the first episode of every environment."""
        n, runs = self.num_envs, sum(map(len, batches))
        if not runs or n % runs:
            raise ValueError(f"{n} environments cannot be shared equally by {runs} runs. Ask for a multiple of {runs}.")
        # Seeds come first in the zip, so that none of `firsts` is lost between two batches.
        firsts = iter(range(0, n, n // runs))
        self._batches = [
            [
                Lane(self.task, self._simulator, self._schedule(batch, run, seeds), batch.actor, first)
                for run, seeds, first in zip(batch.seeds, batch.env_seeds(n // runs), firsts, strict=False)
            ]
            for batch in batches
        ]
        self.cut()

    @on_host
    def start_at(self, actor: Actor, episodes: Sequence[EpisodeId]) -> None:
        schedule = ListSchedule(self.task, episodes, self.num_envs)
        self._batches = [[Lane(self.task, self._simulator, schedule, actor)]]
        self.cut()

    @on_host
    def offer(self, pools: Sequence[ScenePool | None]) -> None:
        for lanes, by_run in zip(self._batches, pools, strict=True):
            for lane, pool in zip(lanes, [] if by_run is None else np.asarray(by_run), strict=False):
                if isinstance(lane.schedule, ReplaySchedule):
                    lane.schedule.offer(pool)

    @on_host
    def cut(self) -> None:
        for lane in self._lanes:
            lane.cut()

    @on_host
    def collect(self, thetas: Thetas, noises: Noises) -> list[Rollout]:
        steps = {noise.shape[1] for noise in noises}
        if len(steps) != 1:
            raise ValueError(f"There is noise for {sorted(steps)} steps. Give every run noise for the same number.")
        (horizon,), results, runs = steps, [], []
        for lanes, theta, noise in zip(self._batches, thetas, noises, strict=True):
            width = lanes[0].policy.record.width
            results.append(np.empty((len(lanes), horizon + 1, self.envs_per_run, width), np.float32))
            runs += zip(lanes, map(jnp.asarray, np.asarray(theta)), np.asarray(noise), results[-1], strict=True)
        scenes: list[list[np.ndarray]] = []
        again = any(isinstance(lane.schedule, ReplaySchedule) for lane in self._lanes)
        for lane, theta, noise, rows in runs:
            rows[0] = lane.first_action(theta, noise[0])
        for t in range(horizon):
            if again:
                scenes.append([lane.scenes.copy() for lane in self._lanes])
            actions = np.concatenate([rows[t, :, lane.policy.executed] for lane, _, _, rows in runs])
            reasons = self._simulator.step(actions, self._stepping())
            if self.after_physics is not None:
                self.after_physics()
            # All programs are started before the first result is awaited, so that they run in parallel. The action of
            # the last step is never taken, because the next rollout has another policy.
            coming = [lane.advance(theta, noise[(t + 1) % horizon]) for lane, theta, noise, _ in runs]
            for (lane, _, _, rows), now in zip(runs, coming, strict=True):
                rows[t + 1] = now
                self.divergences.report(lane.end(rows[t + 1], reasons))
        rollouts = [lanes[0].policy.rollout(rows) for lanes, rows in zip(self._batches, results, strict=True)]
        return self._with_scenes(rollouts, np.array(scenes)) if again else rollouts

    def snapshots(self) -> Callable[[int], Snapshot]:
        return [lane.snapshot() for lane in self._lanes].__getitem__

    @on_host
    def restore(self, snapshots: Sequence[Snapshot]) -> None:
        check_snapshots(snapshots, len(self._lanes), self.envs_per_run)
        for lane, snapshot in zip(self._lanes, snapshots, strict=True):
            lane.restore(snapshot)

    def close(self) -> None:
        """Nothing to release."""

    def _stepping(self) -> Int[np.ndarray, " n"] | None:
        """The simulations that step. None for all. After the end of a list, those without an episode rest."""
        schedule = self._lanes[0].schedule
        if not isinstance(schedule, ListSchedule) or schedule.playing.all():
            return None
        return np.flatnonzero(schedule.playing)

    def _with_scenes(self, rollouts: list[Rollout], scenes: Int[np.ndarray, "time run 3 env"]) -> list[Rollout]:
        """Add the scenes to the rollouts of batches with replay."""
        found = []
        for lanes, which, rollout in zip(self._batches, consecutive(map(len, self._batches)), rollouts, strict=True):
            again = isinstance(lanes[0].schedule, ReplaySchedule)
            scene = Scene(*scenes[:, which].transpose(2, 1, 0, 3)) if again else None
            found.append(replace(rollout, scene=scene))
        return found

    def _schedule(self, batch: RunBatch, run: int, seeds: EnvSeeds) -> EpisodeSchedule:
        fresh = SeedSchedule(self.task, seeds)
        if not batch.replay.share:
            return fresh
        return ReplaySchedule(self.task, fresh, SceneChoice(batch.replay, run, len(seeds)))

    @property
    def _lanes(self) -> list[Lane]:
        return [lane for lanes in self._batches for lane in lanes]
