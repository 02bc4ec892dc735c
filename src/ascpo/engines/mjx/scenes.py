"""Scene replay on the device. The axes are environment and run. Runs without replay play fresh scenes only."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from ascpo.engines.contract import RunBatch, Snapshot
from ascpo.engines.replay import FRESH, Rule, Scene, ScenePool, choose_slots
from ascpo.engines.task_step import begin_episodes
from ascpo.guard.draws import keys_of
from ascpo.guard.layout import draw_all
from ascpo.guard.suites import consecutive
from ascpo.guard.task import Task


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Played:
    """The scenes of the running episodes."""

    scene: Scene
    begun: Int[Array, "env run"]
    """Number of episodes that have begun."""


class Pool(NamedTuple):
    """The scenes that each run may replay."""

    rule: Rule
    """The replay rule of each run."""
    scenes: Int[Array, "run slot 2"]
    rows: Float[Array, "run slot packed"]
    """The task's memories at the start of these scenes."""
    pillars: Float[Array, "run slot pillars 3"]


class Next(NamedTuple):
    """The next episodes."""

    rows: Float[Array, "env run packed"]
    pillars: Float[Array, "env run pillars 3"]
    slot: Int[Array, "env run"] | None = None
    """None without replay."""

    @property
    def fresh(self) -> Bool[Array, "env run"] | bool:
        return True if self.slot is None else self.slot < 0


def nothing_played(envs: int, runs: int) -> Played:
    """The state before the first episodes."""
    unknown = jnp.full((envs, runs), FRESH, jnp.int32)
    return Played(Scene(unknown, unknown, unknown), jnp.zeros((envs, runs), jnp.int32))


def rules_of(batches: Sequence[RunBatch], num_envs: int) -> Rule:
    """The replay rules of all runs."""
    rules = [Rule.of(batch.replay, run, num_envs) for batch in batches for run in batch.seeds]
    seeds, threshold, slots = zip(*rules, strict=True)
    return Rule(np.stack(seeds, axis=1), np.array(threshold, np.uint32), np.array(slots, np.uint32))


def joined_pools(batches: Sequence[RunBatch], pools: Sequence[ScenePool | None]) -> Int[np.ndarray, "run slot 2"]:
    """The pools of all runs, with as many slots as the largest."""
    runs, slots = sum(map(len, batches)), max(batch.replay.pool for batch in batches if batch.replay.share)
    joined = np.full((runs, slots, 2), FRESH, np.int32)
    for own, pool in zip(consecutive(map(len, batches)), pools, strict=True):
        if pool is not None:
            joined[own, : pool.shape[1]] = pool
    return joined


@partial(jax.jit, static_argnums=0)
def draw_pool(task: Task, rule: Rule, seeds: UInt32[Array, "env run 2"], scenes: Int[Array, "run slot 2"]) -> Pool:
    """The pool with the starts of its scenes. The seeds are those of the environments."""
    envs, numbers = jnp.moveaxis(jnp.maximum(scenes, 0), -1, 0)
    own = jnp.take_along_axis(jnp.moveaxis(seeds, 1, 0), envs[..., None], axis=1)
    rows, pillars = begin_episodes(task, draw_all(task.rules, keys_of(own.reshape(-1, 2), numbers.ravel())))
    shape = envs.shape
    return Pool(rule, scenes, rows.reshape(*shape, -1), pillars.reshape(*shape, *pillars.shape[1:]))


def or_again(fresh: Next, played: Played | None, pool: Pool | None) -> Next:
    """The next episodes, some of which replay a scene of the pool."""
    if played is None or pool is None:
        return fresh
    by_run = jax.vmap(choose_slots, in_axes=(Rule(1, 0, 0), 1, 0), out_axes=1)
    slot = by_run(pool.rule, played.begun, pool.scenes)
    run, again = jnp.arange(slot.shape[1]), slot >= 0
    rows = jnp.where(again[..., None], pool.rows[run, slot], fresh.rows)
    return Next(rows, jnp.where(again[..., None, None], pool.pillars[run, slot], fresh.pillars), slot)


def begin(
    played: Played | None,
    pool: Pool | None,
    following: Next,
    numbers: Int[Array, "env run"],
    begins: Bool[Array, "env run"],
) -> Played | None:
    """The state after new episodes have begun in some environments. Fresh ones have these numbers."""
    slot = following.slot
    if played is None or pool is None or slot is None:
        return None
    envs = jnp.broadcast_to(jnp.arange(len(slot), dtype=jnp.int32)[:, None], slot.shape)
    env, number = jnp.moveaxis(pool.scenes[jnp.arange(slot.shape[1]), slot], -1, 0)
    coming = Scene(jnp.where(slot < 0, envs, env), jnp.where(slot < 0, numbers, number), slot)
    scene = jax.tree.map(lambda new, old: jnp.where(begins, new, old), coming, played.scene)
    return Played(scene, played.begun + begins)


def snapshot_of(played: Played, pool: Pool, slots: int, run: int) -> Snapshot:
    """The part of a snapshot for a run whose pool has so many slots."""
    scene = played.scene
    now = jnp.stack([scene.env[:, run], scene.number[:, run], scene.slot[:, run]])
    return {"scenes": now, "begun": played.begun[:, run], "pool": pool.scenes[run, :slots]}


def played_in(snapshots: Sequence[Snapshot], num_envs: int) -> Played:
    """The scenes of the running episodes, from snapshots."""
    nothing = np.full((3, num_envs), FRESH, np.int32)
    now = np.stack([np.asarray(snapshot.get("scenes", nothing)) for snapshot in snapshots], axis=-1)
    begun = np.stack([np.asarray(snapshot.get("begun", nothing[0])) for snapshot in snapshots], axis=-1)
    return Played(Scene(*map(jnp.asarray, now)), jnp.asarray(begun))
