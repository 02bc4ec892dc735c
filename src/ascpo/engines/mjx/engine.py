"""The mjx engine: physics, task and policy of all environments in one compiled program, on one device or several.

Environments of all players lie side by side as [environment, player]; the first axis is the one that several devices
share. A rollout is cut into stretches of a few steps. For each environment as many episodes are drawn ahead as such a
stretch could end, so that none is ever missing.
"""

import functools
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int, UInt32

from ascpo.engines.divergence import NOT_FINITE, Divergence
from ascpo.engines.gathering import here
from ascpo.engines.mjx.physics import Implementation, Moving, Physics, Pose, Unserved
from ascpo.engines.of_task import OfTask
from ascpo.engines.precision import precise
from ascpo.engines.programs import Scenes, row_of
from ascpo.engines.rollout import Actor, Cast, Rollout, Snapshot
from ascpo.guard.layout import draw_all, keys_of
from ascpo.guard.task import Task

STRETCH = 25
"""Steps between two looks at the episodes drawn ahead, and as many of these."""

_OWN = PartitionSpec("env")
"""Each device has environments of its own."""
_OWN_STEPS = PartitionSpec(None, "env")
"""The same where time comes first."""
_ALL = PartitionSpec()
"""Every device has everything."""
_log = logging.getLogger(__name__)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Carry:
    """Where all environments stand."""

    rows: Float[Array, "env player packed"]
    moving: Moving
    episodes: Int[Array, "env player"]
    """The number of the running episode."""
    memories: tuple[Float[Array, "env _seeds _memory"], ...]
    """By cast."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Ahead:
    """Episodes to come, in order."""

    after: Int[Array, "env player"]
    """The episode that the first of them follows."""
    rows: Float[Array, "env player block packed"]
    pillars: Float[Array, "env player block pillars 3"]


class MjxEngine(OfTask):
    """Environments of one task, stepped together."""

    def __init__(
        self,
        task: Task,
        num_envs: int,
        implementation: Implementation | None = None,
        devices: Sequence[Any] = (),
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs={num_envs}: ask for at least one environment.")
        found = tuple(devices) or (jax.devices()[0],)
        if num_envs % len(found):
            raise ValueError(
                f"num_envs={num_envs} cannot be shared by {len(found)} devices. Ask for a multiple of {len(found)}."
            )
        self.task = task
        self.num_envs = num_envs
        """Of each player."""
        self.divergences: deque[Divergence] = deque(maxlen=1000)
        self.mesh = Mesh(np.array(found), ("env",))
        self._physics = _physics(task, implementation)
        if self._physics.implementation == "warp" and len(found) > 1:
            raise Unserved("Warp's simulations live on one device. Use the implementation jax, or one device.")
        self.implementation = self._physics.implementation

    @property
    def remarks(self) -> tuple[str, ...]:
        device = self.mesh.devices.flat[0]
        several = f"{self.mesh.size} devices" if self.mesh.size > 1 else "one device"
        return (f"Physics by MJX ({self.implementation}) on {several} ({device.device_kind}), in single precision.",)

    def begin(self, actor: Actor, seed: int) -> None:
        self.begin_together([Cast(actor, (seed,))])

    def collect(self, theta: Float[Array, " p"], noise: Float[Any, "time env act"]) -> Rollout:
        (rollout,) = self.collect_together([jnp.asarray(theta)[None]], [jnp.asarray(noise)[None]])
        return jax.tree.map(lambda x: x[0], rollout)

    def cut(self) -> None:
        self.cut_together()

    def snapshot(self) -> Snapshot:
        return self.snapshots()(0)

    def restore(self, snapshot: Snapshot) -> None:
        self.restore_together([snapshot])

    def close(self) -> None:
        """Nothing is held."""

    def begin_together(self, casts: Sequence[Cast]) -> None:
        self._casts = tuple(casts)
        seeds = np.concatenate([np.asarray(cast.seeds, np.int64) for cast in casts])
        self._seeds = self._shared(((np.arange(self.num_envs)[:, None] + seeds) % 2**32).astype(np.uint32))
        self._program = _program(self.task, self._physics, tuple(cast.actor for cast in casts), self.mesh)
        self._begin_after(self._shared(np.full(self._seeds.shape, -1, np.int32)))

    def cut_together(self) -> None:
        self._begin_after(self._carry.episodes)

    def collect_together(
        self, thetas: Sequence[Float[Array, "_seeds _p"]], noises: Sequence[Float[Any, "_seeds _time env act"]]
    ) -> list[Rollout]:
        thetas = tuple(self._put(theta, _ALL) for theta in thetas)
        # By step, environment and seed, as the program goes through them.
        by_step = tuple(self._put(jnp.transpose(noise, (1, 2, 0, 3)), _OWN_STEPS) for noise in noises)
        stretches = [
            self._stretch(thetas, tuple(noise[t : t + STRETCH] for noise in by_step))
            for t in range(0, len(by_step[0]), STRETCH)
        ]
        return [_joined([stretch[i] for stretch in stretches]) for i in range(len(self._casts))]

    def snapshots(self) -> Callable[[int], Snapshot]:
        # What is on the device never changes: nothing has to be copied before it is wanted.
        return functools.partial(self._snapshot, here(self._carry), here(self._seeds))

    def _snapshot(self, carry: _Carry, seeds: UInt32[Array, "env player"], player: int) -> Snapshot:
        place, cast = player, 0
        while place >= len(self._casts[cast].seeds):
            place, cast = place - len(self._casts[cast].seeds), cast + 1
        pose = {name: _pairs(x, self.num_envs)[:, player] for name, x in vars(carry.moving.pose).items()}
        return {
            "seeds": seeds[:, player],
            "episodes": carry.episodes[:, player],
            "rows": carry.rows[:, player],
            "memories": carry.memories[cast][:, place],
            "sensors": _pairs(carry.moving.sensors, self.num_envs)[:, player],
        } | pose

    def restore_together(self, snapshots: Sequence[Snapshot]) -> None:
        players, found = self._seeds.shape[1], {len(snapshot["seeds"]) for snapshot in snapshots}
        if len(snapshots) != players or found != {self.num_envs}:
            raise ValueError(
                f"{len(snapshots)} snapshots of {', '.join(map(str, sorted(found)))} environments do not fit "
                f"{players} players of {self.num_envs}. Begin with the casts that were copied."
            )

        def joined(name: str) -> Array:
            return jnp.stack([jnp.asarray(snapshot[name]) for snapshot in snapshots], axis=1)

        self._seeds = self._shared(joined("seeds"))
        self._draw_ahead(self._shared(joined("episodes")))
        pose = Pose(**{name: _flat(joined(name)) for name in Pose.__dataclass_fields__})
        memories, first = [], 0
        for cast in self._casts:
            mine = snapshots[first : first + len(cast.seeds)]
            memories.append(jnp.stack([jnp.asarray(snapshot["memories"]) for snapshot in mine], axis=1))
            first += len(cast.seeds)
        moving = self._physics.stand(pose, _flat(joined("sensors")))
        self._carry = jax.tree.map(self._shared, _Carry(joined("rows"), moving, joined("episodes"), tuple(memories)))

    def _stretch(
        self, thetas: tuple[Float[Array, "_seeds _p"], ...], noises: tuple[Float[Array, "_time env _seeds act"], ...]
    ) -> list[Rollout]:
        # Drawing anew takes about as long whatever was used: as seldom as it can be without a second try.
        before = self._carry
        if self._used > STRETCH // 2:
            self._draw_ahead(before.episodes)
        after, rollouts, diverged, told = self._program(thetas, before, self._ahead, noises)
        if told[0] > STRETCH:
            self._draw_ahead(before.episodes)
            after, rollouts, diverged, told = self._program(thetas, before, self._ahead, noises)
        self._carry = after
        self._used, broken = (int(number) for number in jax.device_get(told))
        if broken:
            self._report(here(before), here([rollout.done for rollout in rollouts]), np.asarray(here(diverged)))
        return rollouts

    def _begin_after(self, episodes: Int[Array, "env player"]) -> None:
        """Begin the episodes after these everywhere."""
        self._draw_ahead(episodes)
        memories = tuple(jnp.tile(cast.actor.fresh(), (self.num_envs, len(cast.seeds), 1)) for cast in self._casts)
        moving = self._physics.begin(_flat(self._ahead.pillars[:, :, 0]))
        carry = _Carry(self._ahead.rows[:, :, 0], moving, episodes + 1, memories)
        self._carry, self._used = jax.tree.map(self._shared, carry), 1

    def _draw_ahead(self, after: Int[Array, "env player"]) -> None:
        self._ahead, self._used = jax.tree.map(self._shared, _drawn(self.task, self._seeds, after)), 0

    def _shared(self, x: Any) -> Array:
        return self._put(x, _OWN)

    def _put(self, x: Any, spec: PartitionSpec) -> Array:
        # On the only device that is used, arrays stay as free as the learner's: what is bound to a mesh, or to a
        # device, would have all of the learner's programs compiled a second time.
        free = self.mesh.size == 1 and self.mesh.devices.flat[0] == jax.local_devices()[0]
        return jnp.asarray(x) if free else jax.device_put(x, NamedSharding(self.mesh, spec))

    def _report(
        self, before: _Carry, ended: list[Bool[Array, "time env _seeds"]], diverged: Bool[np.ndarray, "time env player"]
    ) -> None:
        done = np.concatenate(ended, axis=-1)
        steps = np.asarray(jax.vmap(jax.vmap(lambda row: row_of(self.task).unpack(row).step))(before.rows))
        episodes, seeds = np.asarray(before.episodes), np.asarray(here(self._seeds))
        for t, env, player in np.argwhere(diverged):
            ends = np.flatnonzero(done[:t, env, player])
            step = t + 1 + steps[env, player] if not len(ends) else t - ends[-1]
            found = Divergence(
                int(env), int(seeds[env, player]), int(episodes[env, player]) + len(ends), int(step), NOT_FINITE
            )
            _log.warning("%s", found)
            self.divergences.append(found)


@functools.lru_cache(maxsize=8)
def _physics(task: Task, implementation: Implementation | None) -> Physics:
    """Models are put on the device once."""
    return Physics(task, implementation)


@functools.partial(jax.jit, static_argnums=0)
def _drawn(task: Task, seeds: UInt32[Array, "env player"], after: Int[Array, "env player"]) -> _Ahead:
    """The episodes after these."""
    numbers = after[..., None] + 1 + jnp.arange(STRETCH + 1)
    keys = keys_of(jnp.broadcast_to(seeds[..., None], numbers.shape).ravel(), numbers.ravel())
    layouts = draw_all(task.rules, keys)
    pack = row_of(task).pack
    rows = jax.vmap(lambda layout: pack(task.begin(layout)))(layouts)
    pillars = jax.vmap(task.pillars_from_start)(layouts)
    return _Ahead(after, rows.reshape(*numbers.shape, -1), pillars.reshape(*numbers.shape, *pillars.shape[1:]))


@functools.lru_cache(maxsize=8)
def _program(task: Task, physics: Physics, actors: tuple[Actor, ...], mesh: Mesh) -> Callable[..., Any]:
    """A stretch of steps: (parameters, carry, episodes ahead, noise) → (carry, rollouts, which diverged, told).

    What is told: the most episodes that were used of those ahead, and how many diverged.
    """
    move, reset = _over_devices(physics, mesh)

    def step(thetas: Any, ahead: _Ahead, carry: _Carry, noises: Any) -> tuple[_Carry, Any]:
        seen, first = [], 0
        for actor, theta, memory, noise in zip(actors, thetas, carry.memories, noises, strict=True):
            rows = carry.rows[:, first : first + memory.shape[1]]
            over_seeds = jax.vmap(Scenes(task, actor).see)
            seen.append(jax.vmap(over_seeds, in_axes=(None, 0, 0, 0))(theta, rows, memory, noise))
            first += memory.shape[1]
        taken = jnp.concatenate([each.taken for each in seen], axis=1)
        moving = move(carry.moving, _flat(taken))
        sensors = _pairs(moving.sensors, len(taken))
        used = carry.episodes - ahead.after
        following = jax.vmap(jax.vmap(lambda block, i: block[i]))
        next_rows, next_pillars = following(ahead.rows, used), following(ahead.pillars, used)
        settled, first = [], 0
        for actor, memory in zip(actors, carry.memories, strict=True):
            mine = slice(first, first + memory.shape[1])
            settle = jax.vmap(jax.vmap(Scenes(task, actor).settle))
            settled.append(settle(carry.rows[:, mine], memory, sensors[:, mine], next_rows[:, mine]))
            first += memory.shape[1]
        done = jnp.concatenate([now.outcome.done for now in settled], axis=1)
        after = _Carry(
            rows=jnp.concatenate([now.row for now in settled], axis=1),
            moving=reset(moving, _flat(done), _flat(next_pillars)),
            episodes=carry.episodes + done,
            memories=tuple(now.memory for now in settled),
        )
        rollouts = [
            Rollout(
                view=before.view,
                next_view=now.last,
                action=before.action,
                reward=now.outcome.reward,
                cost=now.outcome.costs,
                terminated=now.outcome.terminated,
                truncated=now.outcome.truncated & ~now.outcome.terminated,
                taken=None if actor.shield is None else before.taken,
            )
            for actor, before, now in zip(actors, seen, settled, strict=True)
        ]
        return after, (rollouts, jnp.concatenate([now.outcome.diverged for now in settled], axis=1))

    # The same places after a stretch as before it: so it is compiled once.
    places = tuple(NamedSharding(mesh, spec) for spec in (_OWN, _OWN_STEPS, _OWN_STEPS, _ALL))

    @functools.partial(jax.jit, out_shardings=places if mesh.size > 1 else None)
    @precise
    def stretch(thetas: Any, carry: _Carry, ahead: _Ahead, noises: Any) -> Any:
        after, (rollouts, diverged) = jax.lax.scan(functools.partial(step, thetas, ahead), carry, noises)
        return after, rollouts, diverged, (jnp.max(after.episodes - ahead.after), jnp.sum(diverged))

    return stretch


def _over_devices(physics: Physics, mesh: Mesh) -> tuple[Callable[..., Moving], Callable[..., Moving]]:
    """Each device moves its own environments: none of them knows of the others."""
    if mesh.size == 1:
        return physics.step, physics.reset
    return (
        jax.shard_map(physics.step, mesh=mesh, in_specs=(_OWN, _OWN), out_specs=_OWN, check_vma=False),
        jax.shard_map(physics.reset, mesh=mesh, in_specs=(_OWN, _OWN, _OWN), out_specs=_OWN, check_vma=False),
    )


def _flat(x: Array) -> Array:
    """[environment, player, …] as one axis of simulations."""
    return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])


def _pairs(x: Array, num_envs: int) -> Array:
    """The way back."""
    return x.reshape(num_envs, len(x) // num_envs, *x.shape[1:])


@jax.jit
def _joined(stretches: list[Rollout]) -> Rollout:
    """One after the other, and seeds first."""
    return jax.tree.map(lambda *parts: jnp.moveaxis(jnp.concatenate(parts), 2, 0), *stretches)
