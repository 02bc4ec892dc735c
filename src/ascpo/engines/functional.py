"""The functional engine: environments that are JAX functions themselves, so that a rollout is one compiled scan."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from ascpo.engines.rollout import Actor, Bounds, Rollout, Sized, Snapshot


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Transition:
    """What a step of one environment did."""

    state: Any
    reward: Float[Array, ""]
    costs: Float[Array, " m"]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]


@runtime_checkable
class World(Sized, Protocol):
    """One environment as pure functions. A state is any pytree of arrays."""

    def begin(self, key: Key[Array, ""]) -> Any:
        """The state in which an episode begins."""
        ...

    def observe(self, state: Any) -> Float[Array, " obs"]: ...

    def step(self, state: Any, action: Float[Array, " act"], key: Key[Array, ""]) -> Transition: ...


class FunctionalEngine:
    """Environments of one world, stepped together."""

    def __init__(self, world: World, num_envs: int) -> None:
        self.world = world
        self.num_envs = num_envs
        self.observation_size = world.observation_size
        self.action_size = world.action_size
        self.cost_names = world.cost_names

    @property
    def remarks(self) -> tuple[str, ...]:
        return ()

    @property
    def action_bounds(self) -> Bounds:
        """None: a world takes what the policy draws."""
        everything = np.full(self.action_size, np.inf, np.float32)
        return -everything, everything

    def begin(self, actor: Actor, seed: int) -> None:
        self._key = jax.random.key(seed)
        self._collect = _program(self.world, actor)
        self._memory = jnp.tile(actor.fresh(), (self.num_envs, 1))
        self.cut()

    def cut(self) -> None:
        self._key, key = jax.random.split(self._key)
        self._state = jax.vmap(self.world.begin)(jax.random.split(key, self.num_envs))
        self._fresh = True

    def collect(self, theta: Float[Array, " p"], noise: Float[np.ndarray, "time env act"]) -> Rollout:
        self._key, key = jax.random.split(self._key)
        keys = jax.random.split(key, noise.shape[:2])
        carry = (self._state, self._memory, jnp.asarray(self._fresh))
        (self._state, self._memory), rollout = self._collect(theta, carry, jnp.asarray(noise), keys)
        self._fresh = False
        return rollout

    def snapshot(self) -> Snapshot:
        leaves = jax.tree.leaves(self._state)
        state = {f"state{i}": np.array(leaf) for i, leaf in enumerate(leaves)}
        key, fresh = np.array(jax.random.key_data(self._key)), np.array(self._fresh)
        return state | {"key": key, "memory": np.array(self._memory), "fresh": fresh}

    def restore(self, snapshot: Snapshot) -> None:
        structure = jax.tree.structure(self._state)
        leaves = [jnp.asarray(snapshot[f"state{i}"]) for i in range(structure.num_leaves)]
        self._state = jax.tree.unflatten(structure, leaves)
        self._key = jax.random.wrap_key_data(jnp.asarray(snapshot["key"]))
        self._memory, self._fresh = jnp.asarray(snapshot["memory"]), bool(snapshot["fresh"])

    def close(self) -> None:
        """Nothing is held."""


@functools.lru_cache(maxsize=8)
def _program(world: World, actor: Actor) -> Callable[..., Any]:
    def one(
        theta: Float[Array, " p"], state: Any, memory: Any, noise: Float[Array, " act"], key: Key[Array, ""]
    ) -> Any:
        view = jnp.concatenate([world.observe(state), memory])
        action, taken = actor.both(theta, view, noise)
        step_key, begin_key = jax.random.split(key)
        moved = world.step(state, taken, step_key)
        remembered = actor.after(memory, moved.costs)
        next_view = jnp.concatenate([world.observe(moved.state), remembered])
        done = moved.terminated | moved.truncated
        state = jax.tree.map(lambda new, old: jnp.where(done, new, old), world.begin(begin_key), moved.state)
        memory = jnp.where(done, actor.fresh(), remembered)
        truncated = moved.truncated & ~moved.terminated
        kept = None if actor.shield is None else taken
        rollout = Rollout(view, next_view, action, moved.reward, moved.costs, moved.terminated, truncated, kept)
        return (state, memory), rollout

    @jax.jit
    def collect(theta: Float[Array, " p"], carry: Any, noise: Any, keys: Any) -> Any:
        state, memory, fresh = carry
        memory = jnp.where(fresh, actor.fresh(), memory)

        def step(carry: Any, inputs: Any) -> Any:
            return jax.vmap(one, in_axes=(None, 0, 0, 0, 0))(theta, *carry, *inputs)

        return jax.lax.scan(step, (state, memory), (noise, keys))

    return collect
