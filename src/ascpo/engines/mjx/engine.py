"""The mjx engine: physics, task and policy of all environments in one compiled program, on one device or several.

Environments of all runs lie side by side as [environment, run]; the first axis is the one that several devices share.
A rollout is cut into chunks of a few steps. For each environment as many episodes are drawn ahead as such a chunk
could end, so that none is ever missing.
"""

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int

from ascpo.engines.contract import Noises, Rollout, RunBatch, Snapshot, Thetas, check_snapshots
from ascpo.engines.divergence import NOT_FINITE, Divergence, Divergences
from ascpo.engines.gathering import here
from ascpo.engines.mjx import program
from ascpo.engines.mjx.physics import Implementation, Physics, Pose, Unserved
from ascpo.engines.mjx.program import CHUNK, Carry, by_run, by_simulation
from ascpo.engines.task_sizes import TaskSizes
from ascpo.engines.task_step import packed_memory
from ascpo.guard.layout import AnyArray
from ascpo.guard.suites import consecutive
from ascpo.guard.task import Task
from ascpo.seeding import words


class MjxEngine(TaskSizes):
    """Environments of one task, stepped together: so many for each run."""

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
        self._begin_after(self._shared(np.full(self._seeds.shape, -1, np.int32)))

    def cut(self) -> None:
        self._begin_after(self._carry.episodes)

    def collect(self, thetas: Thetas, noises: Noises) -> list[Rollout]:
        thetas = tuple(self._shared(theta, program.EVERYWHERE) for theta in thetas)
        # By step, environment and run, as the program goes through them.
        by_step = tuple(self._shared(jnp.transpose(x, (1, 2, 0, 3)), program.PER_DEVICE_BY_STEP) for x in noises)
        starts = range(0, len(by_step[0]), CHUNK)
        chunks = [self._chunk(thetas, tuple(noise[t : t + CHUNK] for noise in by_step)) for t in starts]
        return [program.join_chunks([chunk[i] for chunk in chunks]) for i in range(len(self._batches))]

    def snapshots(self) -> Callable[[int], Snapshot]:
        # What is on the device never changes: nothing has to be copied before it is wanted.
        return functools.partial(self._snapshot, here(self._carry), self._seeds)

    def restore(self, snapshots: Sequence[Snapshot]) -> None:
        check_snapshots(snapshots, self._seeds.shape[1], self.envs_per_run)

        def joined(name: str, which: slice = slice(None)) -> Array:
            return jnp.stack([jnp.asarray(snapshot[name]) for snapshot in snapshots[which]], axis=1)

        self._take_seeds(np.stack([np.asarray(snapshot["seeds"], np.int64) for snapshot in snapshots], axis=1))
        self._draw_upcoming(self._shared(joined("episodes")))
        pose = Pose(**{name: by_simulation(joined(name)) for name in Pose.__dataclass_fields__})
        augmentations = tuple(joined("memories", which) for which in self._where)
        moving = self._physics.stand(pose, by_simulation(joined("sensors")))
        self._carry = jax.tree.map(self._shared, Carry(joined("rows"), moving, joined("episodes"), augmentations))

    def close(self) -> None:
        """Nothing is held."""

    @property
    def _where(self) -> list[slice]:
        """Where each batch lies among all runs."""
        return consecutive(map(len, self._batches))

    def _snapshot(self, carry: Carry, seeds: Int[np.ndarray, "env run"], run: int) -> Snapshot:
        batch = next(i for i, which in enumerate(self._where) if run < which.stop)
        pose = {name: by_run(x, self.envs_per_run)[:, run] for name, x in vars(carry.moving.pose).items()}
        return {
            "seeds": seeds[:, run],
            "episodes": carry.episodes[:, run],
            "rows": carry.rows[:, run],
            "memories": carry.augmentations[batch][:, run - self._where[batch].start],
            "sensors": by_run(carry.moving.sensors, self.envs_per_run)[:, run],
        } | pose

    def _chunk(
        self, thetas: tuple[Float[Array, "_run _p"], ...], noises: tuple[Float[Array, "_time env _run act"], ...]
    ) -> list[Rollout]:
        # Drawing anew takes about as long whatever was used: as seldom as it can be without a second try.
        before = self._carry
        if self._used > CHUNK // 2:
            self._draw_upcoming(before.episodes)
        self._carry, rollouts, diverged, (used, broken) = self._program(thetas, before, self._upcoming, noises)
        if used > CHUNK:
            self._draw_upcoming(before.episodes)
            self._carry, rollouts, diverged, (used, broken) = self._program(thetas, before, self._upcoming, noises)
        self._used = int(used)
        if broken:
            self._report(here(before), here([rollout.done for rollout in rollouts]), np.asarray(here(diverged)))
        return rollouts

    def _take_seeds(self, seeds: Int[np.ndarray, "env run"]) -> None:
        self._seeds, self._words = seeds, self._shared(words(seeds))

    def _begin_after(self, episodes: Int[Array, "env run"]) -> None:
        """Begin the episodes after these everywhere."""
        self._draw_upcoming(episodes)
        initial = [jnp.tile(each.actor.initial(), (self.envs_per_run, len(each), 1)) for each in self._batches]
        moving = self._physics.begin(by_simulation(self._upcoming.pillars[:, :, 0]))
        carry = Carry(self._upcoming.rows[:, :, 0], moving, episodes + 1, tuple(initial))
        self._carry, self._used = jax.tree.map(self._shared, carry), 1

    def _draw_upcoming(self, after: Int[Array, "env run"]) -> None:
        self._upcoming, self._used = jax.tree.map(self._shared, program.draw_upcoming(self.task, self._words, after)), 0

    def _shared(self, x: AnyArray, spec: PartitionSpec = program.PER_DEVICE) -> Array:
        # On the only device that is used, arrays stay as free as the learner's: what is bound to a mesh, or to a
        # device, would have all of the learner's programs compiled a second time.
        free = self.mesh.size == 1 and self.mesh.devices.flat[0] == jax.local_devices()[0]
        return jnp.asarray(x) if free else jax.device_put(x, NamedSharding(self.mesh, spec))

    def _report(
        self, before: Carry, ended: list[Bool[Array, "time env _run"]], diverged: Bool[np.ndarray, "time env run"]
    ) -> None:
        """Find out where simulations broke down, from where the chunk began and which episodes ended in it."""
        done = np.concatenate(ended, axis=-1)
        steps = np.asarray(packed_memory(self.task).unpack(before.rows).step)
        episodes, seeds = np.asarray(before.episodes), self._seeds
        for t, env, run in np.argwhere(diverged):
            ends = np.flatnonzero(done[:t, env, run])
            step = t + 1 + steps[env, run] if not len(ends) else t - ends[-1]
            episode = int(episodes[env, run]) + len(ends)
            self.divergences.report([Divergence(int(env), int(seeds[env, run]), episode, int(step), NOT_FINITE)])


@functools.lru_cache(maxsize=8)
def _physics(task: Task, implementation: Implementation | None) -> Physics:
    """Models are put on the device once."""
    return Physics(task, implementation)
