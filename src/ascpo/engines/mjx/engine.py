"""The mjx engine: physics, task and policy of all environments in one compiled program, on one device or several.

The environments of all runs have the axes [environment, run]. Several devices share the first axis. A rollout consists
of chunks of a few steps. For each environment, as many episodes are drawn ahead as a chunk could end.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int

from ascpo.engines.contract import Noises, Rollout, RunBatch, Snapshot, Thetas, check_snapshots
from ascpo.engines.divergence import NOT_FINITE, Divergence, Divergences
from ascpo.engines.gathering import gather
from ascpo.engines.mjx import program, scenes
from ascpo.engines.mjx.physics import Implementation, Physics, Pose, Unserved
from ascpo.engines.mjx.program import CHUNK, Carry, by_run, by_simulation
from ascpo.engines.replay import Rule, Scene, ScenePool
from ascpo.engines.task_sizes import TaskSizes
from ascpo.engines.task_step import packed_memory
from ascpo.guard.layout import AnyArray
from ascpo.guard.suites import consecutive
from ascpo.guard.task import Task
from ascpo.seeding import words


class MjxEngine(TaskSizes):
    """Environments of one task that step together. Every run has `num_envs` of them."""

    max_runs: int | None = None

    def __init__(
        self,
        task: Task,
        num_envs: int,
        implementation: Implementation | None = None,
        devices: Sequence[object] = (),
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs={num_envs}: ask for at least one environment.")
        found = tuple(devices) or (jax.devices()[0],)
        if num_envs % (n := len(found)):
            raise ValueError(f"num_envs={num_envs} cannot be shared by {n} devices. Ask for a multiple of {n}.")
        self.task = task
        self.envs_per_run = num_envs
        self.divergences = Divergences()
        self.mesh = Mesh(np.array(found), ("env",))
        self._physics = _physics(task, implementation)
        if self._physics.implementation == "warp" and len(found) > 1:
            raise Unserved("Warp's simulations live on one device. Use the implementation jax, or one device.")
        self.implementation = self._physics.implementation

    @property
    def notes(self) -> tuple[str, ...]:
        several = f"{self.mesh.size} devices" if self.mesh.size > 1 else "one device"
        kind = self.mesh.devices.flat[0].device_kind
        return (f"Physics by MJX ({self.implementation}) on {several} ({kind}), in single precision.",)

    def start(self, batches: Sequence[RunBatch]) -> None:
        self._batches = tuple(batches)
        by_batch = [batch.env_seeds(self.envs_per_run) for batch in batches]
        self._take_seeds(np.stack([seeds for batch in by_batch for seeds in batch], axis=1))
        actors = tuple(batch.actor for batch in batches)
        self._program = program.chunk_program(self.task, self._physics, actors, self.mesh)
        rule = scenes.rules_of(batches, self.envs_per_run) if any(batch.replay.share for batch in batches) else None
        self._rule = None if rule is None else Rule(self._shared(rule.seeds), *map(self._everywhere, rule[1:]))
        self.offer([None] * len(batches))
        played = None if rule is None else scenes.nothing_played(*self._seeds.shape)
        self._begin_after(self._shared(np.full(self._seeds.shape, -1, np.int32)), played)

    def offer(self, pools: Sequence[ScenePool | None]) -> None:
        self._pool: scenes.Pool | None = None
        if self._rule is not None:
            joined = self._everywhere(scenes.joined_pools(self._batches, gather(list(pools))))
            drawn = scenes.draw_pool(self.task, self._rule, self._words, joined)
            self._pool = scenes.Pool(self._rule, *map(self._everywhere, drawn[1:]))

    def cut(self) -> None:
        self._begin_after(self._carry.episodes, self._carry.played)

    def collect(self, thetas: Thetas, noises: Noises) -> list[Rollout]:
        thetas = tuple(self._everywhere(theta) for theta in thetas)
        # By step, environment and run, as the program goes through them.
        by_step = tuple(self._shared(jnp.transpose(x, (1, 2, 0, 3)), program.PER_DEVICE_BY_STEP) for x in noises)
        starts = range(0, len(by_step[0]), CHUNK)
        chunks = [self._chunk(thetas, tuple(noise[t : t + CHUNK] for noise in by_step)) for t in starts]
        rollouts = [program.join_chunks([chunk[i] for chunk in chunks]) for i in range(len(self._batches))]
        batches = zip(rollouts, self._batches, strict=True)
        return [rollout if batch.replay.share else replace(rollout, scene=None) for rollout, batch in batches]

    def snapshots(self) -> Callable[[int], Snapshot]:
        # Arrays on the device are immutable, so they are copied only on demand.
        return functools.partial(self._snapshot, gather(self._carry), self._seeds, self._pool)

    def restore(self, snapshots: Sequence[Snapshot]) -> None:
        check_snapshots(snapshots, self._seeds.shape[1], self.envs_per_run)

        def joined(name: str, which: slice = slice(None)) -> Array:
            return jnp.stack([jnp.asarray(snapshot[name]) for snapshot in snapshots[which]], axis=1)

        self._take_seeds(np.stack([np.asarray(snapshot["seeds"], np.int64) for snapshot in snapshots], axis=1))
        self._draw_upcoming(self._shared(joined("episodes")))
        pose = Pose(**{name: by_simulation(joined(name)) for name in Pose.__dataclass_fields__})
        augmentations = tuple(joined("memories", which) for which in self._where)
        moving = self._physics.stand(pose, by_simulation(joined("sensors")))
        played = None
        if self._rule is not None:
            played = scenes.played_in(snapshots, self.envs_per_run)
            self.offer([self._pools_in(snapshots[which]) for which in self._where])
        carry = Carry(joined("rows"), moving, joined("episodes"), augmentations, played)
        self._carry = jax.tree.map(self._shared, carry)

    def close(self) -> None:
        """Nothing to release."""

    @property
    def _where(self) -> list[slice]:
        """The runs of each batch, as slices of all runs."""
        return consecutive(map(len, self._batches))

    def _pools_in(self, snapshots: Sequence[Snapshot]) -> ScenePool | None:
        """The pools in the snapshots of one batch."""
        pools = [np.asarray(snapshot["pool"]) for snapshot in snapshots if "pool" in snapshot]
        return np.stack(pools) if pools else None

    def _snapshot(
        self, carry: Carry, seeds: Int[np.ndarray, "env run"], pool: scenes.Pool | None, run: int
    ) -> Snapshot:
        batch = next(i for i, which in enumerate(self._where) if run < which.stop)
        pose = {name: by_run(x, self.envs_per_run)[:, run] for name, x in vars(carry.moving.pose).items()}
        snapshot: Snapshot = {
            "seeds": seeds[:, run],
            "episodes": carry.episodes[:, run],
            "rows": carry.rows[:, run],
            "memories": carry.augmentations[batch][:, run - self._where[batch].start],
            "sensors": by_run(carry.moving.sensors, self.envs_per_run)[:, run],
        } | pose
        replay = self._batches[batch].replay
        if replay.share and carry.played is not None and pool is not None:
            snapshot |= scenes.snapshot_of(carry.played, pool, replay.pool, run)
        return snapshot

    def _chunk(
        self, thetas: tuple[Float[Array, "_run _p"], ...], noises: tuple[Float[Array, "_time env _run act"], ...]
    ) -> list[Rollout]:
        # Drawing takes the same time however many episodes were used, so draw only when half of them are.
        before = self._carry
        if self._used > CHUNK // 2:
            self._draw_upcoming(before.episodes)
        step = functools.partial(self._program, thetas, before, pool=self._pool, noises=noises)
        self._carry, rollouts, diverged, (used, broken) = step(upcoming=self._upcoming)
        if used > CHUNK:
            self._draw_upcoming(before.episodes)
            self._carry, rollouts, diverged, (used, broken) = step(upcoming=self._upcoming)
        self._used = int(used)
        if broken:
            ended_and_scenes = gather([(rollout.done, rollout.scene) for rollout in rollouts])
            self._report(gather(before), ended_and_scenes, np.asarray(gather(diverged)))
        return rollouts

    def _take_seeds(self, seeds: Int[np.ndarray, "env run"]) -> None:
        self._seeds, self._words = seeds, self._shared(words(seeds))

    def _begin_after(self, episodes: Int[Array, "env run"], played: scenes.Played | None) -> None:
        """Start the next episode of every environment."""
        self._draw_upcoming(episodes)
        following = program.next_episodes(self._upcoming, self._pool, episodes, played)
        initial = [jnp.tile(each.actor.initial(), (self.envs_per_run, len(each), 1)) for each in self._batches]
        moving, numbers = self._physics.begin(by_simulation(following.pillars)), episodes + following.fresh
        played = scenes.begin(played, self._pool, following, numbers, jnp.ones_like(episodes, dtype=bool))
        carry = Carry(following.rows, moving, numbers, tuple(initial), played)
        self._carry, self._used = jax.tree.map(self._shared, carry), 1

    def _draw_upcoming(self, after: Int[Array, "env run"]) -> None:
        self._upcoming, self._used = jax.tree.map(self._shared, program.draw_upcoming(self.task, self._words, after)), 0

    def _shared(self, x: AnyArray, spec: PartitionSpec = program.PER_DEVICE) -> Array:
        # On the only device that is used, arrays stay as free as the learner's: what is bound to a mesh, or to a
        # device, would have all of the learner's programs compiled a second time.
        free = self.mesh.size == 1 and self.mesh.devices.flat[0] == jax.local_devices()[0]
        if jax.process_count() > 1 and isinstance(x, Array) and x.is_fully_addressable:
            # Every host has the whole array. JAX would send a device's array to the devices of other hosts.
            x = np.asarray(x)
        return jnp.asarray(x) if free else jax.device_put(x, NamedSharding(self.mesh, spec))

    def _everywhere(self, x: AnyArray) -> Array:
        return self._shared(x, program.EVERYWHERE)

    def _report(
        self,
        before: Carry,
        ended_and_scenes: list[tuple[Bool[Array, "time env _run"], Scene | None]],
        diverged: Bool[np.ndarray, "time env run"],
    ) -> None:
        """Report where simulations broke down, from the state before the chunk, and its ends and scenes."""
        ended, played = zip(*ended_and_scenes, strict=True)
        done = np.concatenate(ended, axis=-1)
        steps = np.asarray(packed_memory(self.task).unpack(before.rows).step)
        episodes = np.asarray(before.episodes) + np.cumsum(done, axis=0) - done
        envs = np.broadcast_to(np.arange(len(self._seeds))[:, None], done.shape)
        if None not in played:
            envs, episodes = (np.concatenate([getattr(x, name) for x in played], -1) for name in ("env", "number"))
        for t, env, run in np.argwhere(diverged):
            ends = np.flatnonzero(done[:t, env, run])
            step = t + 1 + steps[env, run] if not len(ends) else t - ends[-1]
            seed, episode = self._seeds[envs[t, env, run], run], episodes[t, env, run]
            self.divergences.report([Divergence(int(env), int(seed), int(episode), int(step), NOT_FINITE)])


@functools.lru_cache(maxsize=8)
def _physics(task: Task, implementation: Implementation | None) -> Physics:
    """The physics of a task. Cached, so that models are copied to the device once."""
    return Physics(task, implementation)
