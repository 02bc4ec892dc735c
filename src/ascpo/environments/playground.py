"""Environments of MuJoCo Playground as worlds. They have no costs, so the user gives a cost function."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ascpo.engines.functional.world import RandomKey, Transition
from ascpo.errors import BadSetting, nearest, to_install

PlaygroundEnv = Any
PlaygroundState = Any
"""Playground's `State`, with `data` (MJX's), `obs`, `info`, `reward`, `done` and `metrics`."""


class PlaygroundWorld:
    """An environment of MuJoCo Playground with costs.

    `cost` maps Playground's state after a step to a number, or to one for each constraint. 0 means safe. `observation`
    is the part that the policy observes if an environment has several. `config` overrides entries of the environment's
    configuration, such as {"episode_length": 500}. The physics is MJX's own, unless `config` has {"impl": "warp"}. An
    episode whose simulation is no longer finite is over, and violates every limit.
    """

    def __init__(
        self,
        name: str,
        cost: Callable[[PlaygroundState], Float[Array, ""] | Float[Array, " m"]],
        cost_names: tuple[str, ...] = ("cost",),
        *,
        observation: str = "state",
        config: Mapping[str, object] | None = None,
    ) -> None:
        self._value = name, cost, cost_names, observation, repr(config)
        self._env = _load(name, {"impl": "jax"} | dict(config or {}))
        self._cost, self._observation = cost, observation
        settings = self._env._config
        self._repeat = int(settings.action_repeat)
        self.cost_names = cost_names
        self.observation_size = self._size_of_observations(name)
        self.action_size = int(self._env.action_size)
        self.action_bounds = -np.ones(self.action_size, np.float32), np.ones(self.action_size, np.float32)
        self.max_episode_steps = -(-int(settings.episode_length) // self._repeat)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlaygroundWorld) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def begin(self, key: RandomKey) -> PlaygroundState:
        # Playground expects JAX's older kind of keys, which are plain arrays.
        return self._env.reset(jax.random.key_data(key))

    def observe(self, state: PlaygroundState) -> Float[Array, " obs"]:
        return state.obs[self._observation] if isinstance(state.obs, Mapping) else state.obs

    def step(self, state: PlaygroundState, action: Float[Array, " act"], key: RandomKey) -> Transition:
        """A step, which repeats the action as the environment's configuration says. The largest costs count."""

        def once(state: PlaygroundState, _: None) -> tuple[PlaygroundState, tuple[Array, Array, Array]]:
            after = self._env.step(state, action)
            return after, (after.reward, self._costs(after), after.done > 0)

        after, (reward, costs, done) = jax.lax.scan(once, state, length=self._repeat)
        never = jnp.zeros((), bool)
        return Transition(after, jnp.sum(reward), jnp.max(costs, axis=0), jnp.any(done), never)

    def _costs(self, state: PlaygroundState) -> Float[Array, " m"]:
        """The costs; NaN if the simulation diverged, because comparisons with NaN could make the state look safe."""
        sound = jnp.all(jnp.isfinite(state.data.qpos)) & jnp.all(jnp.isfinite(state.data.qvel))
        return jnp.where(sound, jnp.atleast_1d(jnp.asarray(self._cost(state), jnp.float32)), jnp.nan)

    def _size_of_observations(self, name: str) -> int:
        sizes = self._env.observation_size
        if not isinstance(sizes, Mapping):
            return int(sizes)
        if self._observation not in sizes:
            raise BadSetting(f"{name} has no observation {self._observation!r}. {nearest(self._observation, sizes)}")
        return int(np.prod(sizes[self._observation]))


def _load(name: str, config: Mapping[str, object]) -> PlaygroundEnv:
    try:
        from mujoco_playground import registry
    except ModuleNotFoundError as error:
        raise BadSetting(f"MuJoCo Playground is not installed: {to_install('playground')}.") from error
    if name not in registry.ALL_ENVS:
        raise BadSetting(f"{name} is not an environment of MuJoCo Playground. {nearest(name, registry.ALL_ENVS)}")
    return registry.load(name, config_overrides=dict(config))
