"""The functional engine: environments that are JAX functions themselves, so that a rollout is one compiled scan."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, PyTree

from ascpo.engines.actor import Actor, Noise, Remembered, Theta, act, augment, remember
from ascpo.engines.contract import HasSizes, Noises, Rollout, RunBatch, Snapshot, Thetas, check_snapshots, only_run
from ascpo.guard.layout import AnyArray
from ascpo.seeding import words

State: TypeAlias = PyTree
RandomKey: TypeAlias = Key[Array, ""]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Transition:
    """What a step of one environment did."""

    state: State
    reward: Float[Array, ""]
    costs: Float[Array, " m"]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    margins: Float[Array, " m"] | None = None
    """Negative where it is safe. None in a world that knows costs alone."""


@runtime_checkable
class World(HasSizes, Protocol):
    """One environment as pure functions. A state is any pytree of arrays."""

    def begin(self, key: RandomKey) -> State:
        """The state in which an episode begins."""
        ...

    def observe(self, state: State) -> Float[Array, " obs"]: ...
    def step(self, state: State, action: Float[Array, " act"], key: RandomKey) -> Transition: ...


class FunctionalEngine:
    """Environments of one world, stepped together for one run."""

    max_runs: int | None = 1
    notes: tuple[str, ...] = ()

    def __init__(self, world: World, num_envs: int) -> None:
        self.world = world
        self.envs_per_run = num_envs
        self.observation_size = world.observation_size
        self.action_size = world.action_size
        self.cost_names = world.cost_names
        self.has_margins = _has_margins(world)

    @property
    def action_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """None: a world takes what the policy draws."""
        everything = np.full(self.action_size, np.inf, np.float32)
        return -everything, everything

    def start(self, batches: Sequence[RunBatch]) -> None:
        run = only_run(batches)
        actor = run.actor
        # All keys come from the seed of the first environment. That of another purpose or run differs.
        self._key = jax.random.wrap_key_data(jnp.asarray(words(run.env_seeds(1)[0])[0]))
        self._collect = _program(self.world, actor)
        self._augmentation = jnp.tile(actor.initial(), (self.envs_per_run, 1))
        self.cut()

    def cut(self) -> None:
        self._key, key = jax.random.split(self._key)
        self._state = jax.vmap(self.world.begin)(jax.random.split(key, self.envs_per_run))
        self._fresh = True

    def collect(self, thetas: Thetas, noises: Noises) -> list[Rollout]:
        (theta,), (noise,) = thetas[0], noises[0]
        self._key, key = jax.random.split(self._key)
        keys = jax.random.split(key, noise.shape[:2])
        carry = (self._state, self._augmentation, jnp.asarray(self._fresh))
        (self._state, self._augmentation), rollout = self._collect(theta, carry, jnp.asarray(noise), keys)
        self._fresh = False
        return [rollout]

    def snapshots(self) -> Callable[[int], Snapshot]:
        state = {f"state{i}": np.array(leaf) for i, leaf in enumerate(jax.tree.leaves(self._state))}
        key, fresh = np.array(jax.random.key_data(self._key)), np.array(self._fresh)
        return [state | {"key": key, "memory": np.array(self._augmentation), "fresh": fresh}].__getitem__

    def restore(self, snapshots: Sequence[Snapshot]) -> None:
        check_snapshots(snapshots, 1, self.envs_per_run)
        snapshot, structure = snapshots[0], jax.tree.structure(self._state)
        leaves = [jnp.asarray(snapshot[f"state{i}"]) for i in range(structure.num_leaves)]
        self._state = jax.tree.unflatten(structure, leaves)
        self._key = jax.random.wrap_key_data(jnp.asarray(snapshot["key"]))
        self._augmentation, self._fresh = jnp.asarray(snapshot["memory"]), bool(snapshot["fresh"])

    def close(self) -> None:
        """Nothing is held."""


def _has_margins(world: World) -> bool:
    key = jax.random.key(0)
    action = jax.ShapeDtypeStruct((world.action_size,), jnp.float32)
    begun = jax.eval_shape(world.begin, key)
    return jax.eval_shape(lambda *step: world.step(*step).margins, begun, action, key) is not None


@functools.lru_cache(maxsize=8)
def _program(world: World, actor: Actor) -> Callable[..., tuple[tuple[State, AnyArray], Rollout]]:
    def one(
        theta: Theta, state: State, augmentation: Remembered, noise: Noise, key: RandomKey
    ) -> tuple[tuple[State, Remembered], Rollout]:
        acted = act(actor, theta, world.observe(state), augmentation, noise)
        step_key, begin_key = jax.random.split(key)
        moved = world.step(state, acted.executed, step_key)
        done = moved.terminated | moved.truncated
        after, augmentation = remember(actor, augmentation, moved.costs, moved.margins, done)
        rollout = Rollout.of(acted, moved, augment(world.observe(moved.state), after))
        state = jax.tree.map(lambda new, old: jnp.where(done, new, old), world.begin(begin_key), moved.state)
        return (state, augmentation), rollout

    @jax.jit
    def collect(theta: Theta, carry: PyTree, noise: PyTree, keys: PyTree) -> PyTree:
        state, augmentation, fresh = carry
        augmentation = jnp.where(fresh, actor.initial(), augmentation)
        environments = jax.vmap(one, in_axes=(None, 0, 0, 0, 0))
        after, rollout = jax.lax.scan(
            lambda carry, inputs: environments(theta, *carry, *inputs), (state, augmentation), (noise, keys)
        )
        return after, jax.tree.map(lambda x: x[None], rollout)

    return collect
