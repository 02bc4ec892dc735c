"""A chunk of steps as one compiled program: physics, task and policies of all environments."""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int, PyTree, UInt32

from ascpo.engines.actor import Acted, Actor, act
from ascpo.engines.contract import Rollout
from ascpo.engines.mjx import scenes
from ascpo.engines.mjx.physics import Moving, Physics
from ascpo.engines.precision import precise
from ascpo.engines.task_step import begin_episodes, packed_memory, settle_policy, settle_task
from ascpo.guard.draws import keys_of
from ascpo.guard.layout import draw_all
from ascpo.guard.suites import consecutive
from ascpo.guard.task import Outcome, Task

CHUNK = 25
"""Steps of a chunk, and the number of episodes that are drawn ahead for each environment."""

PER_DEVICE = PartitionSpec("env")
"""Sharding by environments."""
PER_DEVICE_BY_STEP = PartitionSpec(None, "env")
"""Sharding by environments, for arrays whose first axis is time."""
EVERYWHERE = PartitionSpec()
"""Replicated on all devices."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Carry:
    """The state of all environments."""

    rows: Float[Array, "env run packed"]
    """The task's memories."""
    moving: Moving
    episodes: Int[Array, "env run"]
    """The number of the latest fresh episode."""
    augmentations: tuple[Float[Array, "env _run _augmentation"], ...]
    """The augmentations of the policies, for each batch."""
    played: scenes.Played | None = None
    """The replayed scenes. None without replay."""


class Upcoming(NamedTuple):
    """Fresh episodes to come, in order."""

    after: Int[Array, "env run"]
    """The episode that the first of them follows."""
    rows: Float[Array, "env run block packed"]
    pillars: Float[Array, "env run block pillars 3"]


@functools.partial(jax.jit, static_argnums=0)
def draw_upcoming(task: Task, seeds: UInt32[Array, "env run 2"], after: Int[Array, "env run"]) -> Upcoming:
    """Draw the episodes after these. Seeds are two words each."""
    numbers = after[..., None] + 1 + jnp.arange(CHUNK + 1)
    seeds = jnp.broadcast_to(seeds[..., None, :], (*numbers.shape, 2))
    keys = keys_of(seeds.reshape(-1, 2), numbers.ravel())
    rows, pillars = begin_episodes(task, draw_all(task.rules, keys))
    return Upcoming(after, rows.reshape(*numbers.shape, -1), pillars.reshape(*numbers.shape, *pillars.shape[1:]))


def next_episodes(
    upcoming: Upcoming, pool: scenes.Pool | None, episodes: Int[Array, "env run"], played: scenes.Played | None
) -> scenes.Next:
    """The next episode of every environment."""
    used = episodes - upcoming.after
    chosen = jax.vmap(jax.vmap(lambda block, i: block[i]))
    return scenes.or_again(scenes.Next(chosen(upcoming.rows, used), chosen(upcoming.pillars, used)), played, pool)


@functools.lru_cache(maxsize=8)
def chunk_program(task: Task, physics: Physics, actors: tuple[Actor, ...], mesh: Mesh) -> Callable[..., PyTree]:
    """(parameters, carry, upcoming episodes, pool, noise) → (carry, rollouts, which diverged, counts).

    Counts are the most upcoming episodes that an environment used, and how many simulations diverged.
    """
    step = functools.partial(_step, task, actors, *over_devices(physics, mesh))
    # The same sharding before and after a chunk, so that it is compiled once.
    specs = (PER_DEVICE, PER_DEVICE_BY_STEP, PER_DEVICE_BY_STEP, EVERYWHERE)
    places = tuple(NamedSharding(mesh, spec) for spec in specs)

    @functools.partial(jax.jit, out_shardings=places if mesh.size > 1 else None)
    @precise
    def chunk(thetas: PyTree, carry: Carry, upcoming: Upcoming, pool: scenes.Pool | None, noises: PyTree) -> PyTree:
        after, (rollouts, diverged) = jax.lax.scan(functools.partial(step, thetas, upcoming, pool), carry, noises)
        return after, rollouts, diverged, (jnp.max(after.episodes - upcoming.after), jnp.sum(diverged))

    return chunk


def over_devices(physics: Physics, mesh: Mesh) -> tuple[Callable[..., Moving], Callable[..., Moving]]:
    """The physics' step and reset, on each device for its own environments."""
    if mesh.size == 1:
        return physics.step, physics.reset
    own = PER_DEVICE
    return (
        jax.shard_map(physics.step, mesh=mesh, in_specs=(own, own), out_specs=own, check_vma=False),
        jax.shard_map(physics.reset, mesh=mesh, in_specs=(own, own, own), out_specs=own, check_vma=False),
    )


@dataclass(frozen=True)
class Ensemble:
    """Batches of runs with equal actors, which act together.

    Algorithms differ in how they learn, but rarely in how they act: a program for twelve of them is hardly larger than
    for one.
    """

    actor: Actor
    batches: tuple[int, ...]
    runs: tuple[slice, ...]
    """The runs of each batch, as slices of all runs."""

    def join(self, by_batch: Sequence[Array], axis: int = 1) -> Array:
        """Concatenate the arrays of its batches along the axis of runs."""
        return jnp.concatenate([by_batch[i] for i in self.batches], axis)

    def choose(self, by_run: PyTree) -> PyTree:
        """Select its runs from an array of all runs."""
        return jax.tree.map(lambda x: jnp.concatenate([x[:, runs] for runs in self.runs], axis=1), by_run)

    def split(self, joined: PyTree) -> Iterator[tuple[int, PyTree]]:
        """Split an array of its runs by batch."""
        own = consecutive([runs.stop - runs.start for runs in self.runs])
        for batch, runs in zip(self.batches, own, strict=True):
            yield batch, jax.tree.map(lambda x, runs=runs: x[:, runs], joined)


def ensembles(actors: Sequence[Actor], runs: Sequence[slice]) -> list[Ensemble]:
    alike: dict[Actor, list[int]] = {}
    for batch, actor in enumerate(actors):
        alike.setdefault(actor, []).append(batch)
    return [Ensemble(actor, tuple(found), tuple(runs[i] for i in found)) for actor, found in alike.items()]


def _step(
    task: Task,
    actors: tuple[Actor, ...],
    move: Callable[..., Moving],
    reset: Callable[..., Moving],
    thetas: PyTree,
    upcoming: Upcoming,
    pool: scenes.Pool | None,
    carry: Carry,
    noises: PyTree,
) -> tuple[Carry, tuple[list[Rollout], Bool[Array, "env run"]]]:
    """One step of all environments."""
    mine = consecutive([augmentation.shape[1] for augmentation in carry.augmentations])
    cast = ensembles(actors, mine)
    acted = _act(task, cast, thetas, carry, noises)
    moving = move(carry.moving, by_simulation(jnp.concatenate([each.executed for each in acted], axis=1)))
    sensors = by_run(moving.sensors, len(carry.rows))
    following = next_episodes(upcoming, pool, carry.episodes, carry.played)
    settle = jax.vmap(jax.vmap(functools.partial(settle_task, task)))
    rows, outcome = settle(carry.rows, sensors, following.rows)
    settled = _settle_policies(cast, carry.augmentations, outcome)
    episodes = carry.episodes + (outcome.done & following.fresh)
    after = Carry(
        rows=rows,
        moving=reset(moving, by_simulation(outcome.done), by_simulation(following.pillars)),
        episodes=episodes,
        augmentations=tuple(augmentation for augmentation, _ in settled),
        played=scenes.begin(carry.played, pool, following, episodes, outcome.done),
    )
    rollouts = [Rollout.of(before, now, now.observation) for before, (_, now) in zip(acted, settled, strict=True)]
    if carry.played is not None:
        played = carry.played.scene
        own_scenes = [jax.tree.map(lambda x, own=own: x[:, own], played) for own in mine]
        rollouts = [replace(rollout, scene=scene) for rollout, scene in zip(rollouts, own_scenes, strict=True)]
    return after, (rollouts, outcome.diverged)


def _act(task: Task, cast: Sequence[Ensemble], thetas: PyTree, carry: Carry, noises: PyTree) -> list[Acted]:
    """The actions of the policies, for each batch."""
    acted: dict[int, Acted] = {}
    raw = packed_memory(task).unpack(carry.rows).observation
    for each in cast:
        theta = each.join(thetas, axis=0)
        given = each.choose(raw), each.join(carry.augmentations), each.join(noises)
        acted |= each.split(jax.vmap(jax.vmap(functools.partial(act, each.actor)), (None, 0, 0, 0))(theta, *given))
    return [acted[i] for i in sorted(acted)]


def _settle_policies(
    cast: Sequence[Ensemble], augmentations: Sequence[Array], outcome: Outcome
) -> list[tuple[Float[Array, "env _run _augmentation"], Outcome]]:
    """The augmentations after a step, and its outcome with augmented observations, for each batch."""
    settled: dict[int, tuple[Array, Outcome]] = {}
    for each in cast:
        settle = jax.vmap(jax.vmap(functools.partial(settle_policy, each.actor)))
        settled |= each.split(settle(each.join(augmentations), each.choose(outcome)))
    return [settled[i] for i in sorted(settled)]


@jax.jit
def join_chunks(chunks: list[Rollout]) -> Rollout:
    """Join chunks of [time, environment, run, …] into [run, time, environment, …]."""
    return jax.tree.map(lambda *parts: jnp.moveaxis(jnp.concatenate(parts), 2, 0), *chunks)


def by_simulation(x: Array) -> Array:
    """Reshape [environment, run, …] to one axis of simulations."""
    return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])


def by_run(x: Array, num_envs: int) -> Array:
    """The inverse of `by_simulation`."""
    return x.reshape(num_envs, len(x) // num_envs, *x.shape[1:])
