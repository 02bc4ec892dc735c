"""The functional engine, for environments that are JAX functions. A rollout is one compiled scan.

An episode is a function of its seed, its number and its actions. Lists of episodes are always played with a multiple of
`WIDTH` environments, so that an episode is the same bit for bit alone and together with others.
"""

from collections.abc import Callable, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ascpo.engines.actor import Actor
from ascpo.engines.contract import Bounds, Noises, Rollout, RunBatch, Snapshot, Thetas, check_snapshots
from ascpo.engines.divergence import Divergence, Divergences
from ascpo.engines.functional.episodes import ListedEpisodes, SeedEpisodes, episode_id
from ascpo.engines.functional.inspection import inspect_world
from ascpo.engines.functional.program import EnvStates, Programs, Rules, RunState, Trace, programs
from ascpo.engines.functional.world import World
from ascpo.guard.layout import AnyArray
from ascpo.seeding import EpisodeId

WIDTH = 32
"""Lists of episodes are played by a multiple of this many environments, some of which may be idle."""
BROKEN = "a number of the world is NaN or infinite"


class FunctionalEngine:
    """Environments of one world, shared equally by all runs."""

    max_runs: int | None = None

    def __init__(
        self,
        world: World,
        num_envs: int,
        *,
        limits: tuple[float, ...] = (0.0,),
        max_episode_steps: int | None = None,
    ) -> None:
        """A simulation that breaks down exceeds the limits: one for each cost, or one for all.

        Episodes are truncated after `max_episode_steps`.
        """
        if num_envs < 1:
            raise ValueError(f"num_envs={num_envs}: ask for at least one environment.")
        found = inspect_world(world, max_episode_steps)
        self.world, self.num_envs, self.envs_per_run = world, num_envs, num_envs
        self.observation_size = found.observation_size
        self.action_size = found.action_size
        self.cost_names = found.cost_names
        self.has_margins = found.has_margins
        self.notes = found.notes
        self.action_bounds: Bounds = np.array(found.low, np.float32), np.array(found.high, np.float32)
        self.divergences = Divergences()
        each = tuple(np.resize(limits, len(found.cost_names)).tolist())
        self._rules = Rules(world, found.low, found.high, found.time_limit, each)
        self._programs: list[Programs] = []
        """By batch."""
        self._batches: list[list[RunState]] = []

    def start(self, batches: Sequence[RunBatch]) -> None:
        n, runs = self.num_envs, sum(map(len, batches))
        if not runs or n % runs:
            raise ValueError(f"{n} environments cannot be shared equally by {runs} runs. Ask for a multiple of {runs}.")
        self.envs_per_run = self._width = n // runs
        self._programs = [programs(self._rules, batch.actor) for batch in batches]
        self._batches = [
            [program.begin(SeedEpisodes.of(seeds)) for seeds in batch.env_seeds(self.envs_per_run)]
            for program, batch in zip(self._programs, batches, strict=True)
        ]

    def start_at(self, actor: Actor, episodes: Sequence[EpisodeId]) -> None:
        self.envs_per_run = self.num_envs
        self._width = self.num_envs + -self.num_envs % WIDTH
        self._programs = [programs(self._rules, actor)]
        self._batches = [[self._programs[0].begin(ListedEpisodes.of(episodes, self.num_envs, self._width))]]

    def cut(self) -> None:
        for program, runs in zip(self._programs, self._batches, strict=True):
            everywhere = jnp.ones(self._width, bool)
            runs[:] = [program.begin(run.envs.episodes.end(everywhere)) for run in runs]

    def collect(self, thetas: Thetas, noises: Noises) -> list[Rollout]:
        rollouts, traces = [], []
        for program, runs, theta, noise in zip(self._programs, self._batches, thetas, noises, strict=True):
            collected = [self._collect(program, *one) for one in zip(runs, theta, noise, strict=True)]
            runs[:], found, of_batch = map(list, zip(*collected, strict=True))
            rollouts.append(_stacked(found))
            traces += of_batch
        # The first access to results, which waits for them.
        for trace in traces:
            self._report(trace)
        return rollouts

    def snapshots(self) -> Callable[[int], Snapshot]:
        # Arrays on the device are immutable, so they are copied only on demand.
        return partial(_snapshot, [run for runs in self._batches for run in runs])

    def restore(self, snapshots: Sequence[Snapshot]) -> None:
        check_snapshots(snapshots, sum(map(len, self._batches)), self.envs_per_run)
        following = iter(snapshots)
        for runs in self._batches:
            runs[:] = [_restored(run, next(following)) for run in runs]

    def close(self) -> None:
        """Nothing to release."""

    def _collect(
        self, program: Programs, run: RunState, theta: AnyArray, noise: AnyArray
    ) -> tuple[RunState, Rollout, Trace]:
        """Collect the rollout of one run."""
        if isinstance(run.envs.episodes, SeedEpisodes):
            return program.collect(jnp.asarray(theta), run, jnp.asarray(noise))
        idle = self._width - self.envs_per_run
        run, *found = program.play(jnp.asarray(theta), run, np.pad(noise, ((0, 0), (0, idle), (0, 0))))
        rollout, trace = jax.tree.map(lambda x: x[:, : self.envs_per_run], found)
        return run, rollout, trace

    def _report(self, trace: Trace) -> None:
        for t, env in np.argwhere(np.asarray(trace.broken)).tolist():
            seed, episode = episode_id(np.asarray(trace.ids[t, env]))
            self.divergences.report([Divergence(env, seed, episode, int(trace.steps[t, env]), BROKEN)])


@jax.jit
def _stacked(found: list[Rollout]) -> Rollout:
    """One program, where array by array they would be a dozen."""
    return jax.tree.map(lambda *parts: jnp.stack(parts), *found)


def _snapshot(runs: Sequence[RunState], number: int) -> Snapshot:
    envs = runs[number].envs
    if not isinstance(envs.episodes, SeedEpisodes):
        raise ValueError("A list of episodes has no snapshot. Start it again from its beginning.")
    arrays = {f"state{i}": _plain(leaf) for i, leaf in enumerate(jax.tree.leaves(envs.state))} | {
        "episodes": envs.episodes.numbers,
        "steps": envs.steps,
        "observation": envs.observation,
        "cost": envs.cost,
        "memory": runs[number].augmentation,
    }
    return {name: np.array(array) for name, array in arrays.items()}


def _restored(run: RunState, snapshot: Snapshot) -> RunState:
    envs = run.envs
    assert isinstance(envs.episodes, SeedEpisodes)
    leaves, structure = jax.tree.flatten(envs.state)
    restored = EnvStates(
        SeedEpisodes(envs.episodes.seeds, jnp.asarray(snapshot["episodes"])),
        jnp.asarray(snapshot["steps"]),
        jax.tree.unflatten(structure, [_like(leaf, snapshot[f"state{i}"]) for i, leaf in enumerate(leaves)]),
        jnp.asarray(snapshot["observation"]),
        # Snapshots of earlier versions have none.
        jnp.asarray(snapshot["cost"]) if "cost" in snapshot else jnp.zeros_like(envs.cost),
    )
    return RunState(restored, jnp.asarray(snapshot["memory"]))


def _plain(leaf: Array) -> Array:
    """Random keys as plain numbers, for files."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _like(leaf: Array, stored: AnyArray) -> Array:
    array = jnp.asarray(stored)
    return jax.random.wrap_key_data(array, impl=jax.random.key_impl(leaf)) if _is_key(leaf) else array


def _is_key(leaf: Array) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
