"""The Gymnasium engine: copies of any environment, stepped side by side.

An episode is a function of (seed, environment, number of the episode, actions), for as long as the environment is one
of its own seed and actions. So the engine can be put back into the middle of an episode: by beginning it again, and
playing the same actions.
"""

import functools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from jaxtyping import Array, Bool, Float, Int

from ascpo.engines.inspection import Faulty, Unsuitable, bounds, inspect, resolve
from ascpo.engines.rollout import Actor, Bounds, Origin, Playlist, Rollout, Snapshot, scaled
from ascpo.engines.trial import costs_of

Make = Callable[[], gymnasium.Env[Any, Any]]


class GymnasiumEngine:
    """Environments that `make` makes: a function of no arguments, or the name of one (see `resolve`)."""

    def __init__(self, make: str | Make, num_envs: int, *, processes: bool = False) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs={num_envs}: ask for at least one environment.")
        self._make = _named(make) if isinstance(make, str) else make
        found = inspect(self._make)
        self.num_envs = num_envs
        self.observation_size = found.observation_size
        self.action_size = found.action_size
        self.cost_names = found.cost_names
        self.remarks = found.remarks
        self._envs = _in_processes(self._make, num_envs) if processes else _in_turn(self._make, num_envs)
        self._space: Any = self._envs.single_action_space
        self.action_bounds: Bounds = bounds(self._space)
        scales = np.isfinite(self.action_bounds).all(axis=0).reshape(self._space.shape)
        self._lowest = np.where(scales, self._space.low, -np.inf)
        self._highest = np.where(scales, self._space.high, np.inf)
        self._all = np.arange(num_envs)

    def begin(self, actor: Actor, seed: int) -> None:
        self._actor, self._seed, self._list = actor, seed, ()
        self._begin()

    def begin_at(self, actor: Actor, origins: Sequence[Origin]) -> None:
        """An origin's seed is what the environment is reset with, in 31 bits; its number is not needed."""
        self._list, self._playlist = tuple(seed % 2**31 for seed, _ in origins), Playlist(self.num_envs)
        self._actor, self._seed = actor, 0
        self._begin()

    def _begin(self) -> None:
        self._episodes: Int[np.ndarray, " env"] = np.full(self.num_envs, -1)
        """The number of each environment's running episode."""
        self._lengths: Int[np.ndarray, " env"] = np.zeros(self.num_envs, int)
        """Its steps so far."""
        self._actions: Float[np.ndarray, "time env act"] = np.zeros((64, self.num_envs, self.action_size), np.float32)
        """Its actions so far, as drawn."""
        self.cut()

    def cut(self) -> None:
        """Break all episodes off and begin new ones."""
        self._observation = self._next_episode(np.ones(self.num_envs, bool))
        self._memory = np.tile(np.asarray(self._actor.fresh()), (self.num_envs, 1))

    def collect(self, theta: Float[Array, " p"], noise: Float[np.ndarray, "time env act"]) -> Rollout:
        """Let the policy act for as many steps as there is noise for. Episodes that end begin anew."""
        program = _program(self._actor)
        action, taken = map(np.asarray, program.act(theta, self._observation, self._memory, noise[0]))
        steps: list[Rollout] = []
        # The last step's action is never taken: the next rollout's policy is another.
        for ahead in np.concatenate([noise[1:], noise[:1]]):
            view = np.concatenate([self._observation, self._memory], axis=1)
            moved = self._step(taken)
            done = moved.terminated | moved.truncated
            self._observation = self._next_episode(done) if done.any() else moved.observation
            remembered, memory, next_action, next_taken = program.respond(
                theta, self._observation, self._memory, moved.costs, done, ahead
            )
            next_view = np.concatenate([moved.observation, np.asarray(remembered)], axis=1)
            truncated = moved.truncated & ~moved.terminated
            kept = None if self._actor.shield is None else taken
            steps.append(Rollout(view, next_view, action, moved.reward, moved.costs, moved.terminated, truncated, kept))
            self._memory, action, taken = np.asarray(memory), np.asarray(next_action), np.asarray(next_taken)
        return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *steps)

    def snapshot(self) -> Snapshot:
        return {
            "episodes": self._episodes.copy(),
            "lengths": self._lengths.copy(),
            "actions": self._actions[: self._lengths.max()].copy(),
            "observation": self._observation.copy(),
            "memory": self._memory.copy(),
        }

    def restore(self, snapshot: Snapshot) -> None:
        """Begin the episodes again and play their actions."""
        if len(snapshot["episodes"]) != self.num_envs:
            raise ValueError(
                f"The snapshot is of {len(snapshot['episodes'])} environments, and here are {self.num_envs}. "
                f"Make the engine with as many."
            )
        self._episodes, self._memory = snapshot["episodes"].copy(), snapshot["memory"].copy()
        self._replay(snapshot["lengths"], snapshot["actions"])
        if not np.array_equal(self._observation, snapshot["observation"]):
            warnings.warn(
                "The environment does not repeat itself: the same seeds and actions led to other observations. So the "
                "resumed run will differ from one without a stop. Let reset(seed=...) decide all that is random.",
                stacklevel=2,
            )

    def close(self) -> None:
        self._envs.close()

    def _step(self, drawn: Float[np.ndarray, "env act"]) -> "_Moved":
        if self._lengths.max() == len(self._actions):
            self._actions = np.concatenate([self._actions, np.zeros_like(self._actions)])
        self._actions[self._lengths, self._all] = drawn
        self._lengths += 1
        observation, reward, terminated, truncated, infos = self._envs.step(self._to_space(drawn))
        with np.errstate(over="ignore"):
            moved = _Moved(
                _flat(observation), reward.astype(np.float32), self._costs(infos["each"]), terminated, truncated
            )
        self._check(moved.reward[:, None], "the reward")
        self._check(moved.costs, "a cost")
        self._check(moved.observation, "the observation")
        return moved

    def _to_space(self, drawn: Float[np.ndarray, "env act"]) -> np.ndarray:
        """As the environments want their actions."""
        actions = scaled(drawn, *self.action_bounds).reshape(self.num_envs, *self._space.shape)
        if np.issubdtype(self._space.dtype, np.integer):
            actions = np.rint(actions)
        # Rounding may have led past a bound by a hair, and some environments refuse that.
        return np.clip(actions, self._lowest, self._highest).astype(self._space.dtype)

    def _costs(self, infos: Sequence[dict[str, Any]]) -> Float[np.ndarray, "env m"]:
        costs = np.empty((self.num_envs, len(self.cost_names)), np.float32)
        for env, info in enumerate(infos):
            try:
                found = costs_of(info)
            except ValueError as error:
                raise self._faulty(env, str(error)) from None
            if len(found) != costs.shape[1]:
                raise self._faulty(
                    env, f"There are {len(found)} costs, where there were {costs.shape[1]} before. Give all of them."
                )
            costs[env] = found
        return costs

    def _check(self, values: Float[np.ndarray, "env n"], what: str) -> None:
        if np.isfinite(values).all():
            return
        env, entry = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
        where = f" (entry {entry})" if values.shape[1] > 1 else ""
        raise self._faulty(
            env, f"{what.capitalize()}{where} is {values[env, entry]}. Reset it with this seed, and look for the cause."
        )

    def _faulty(self, env: int, sentence: str) -> Faulty:
        return Faulty(
            f"Environment {env}, episode {self._episodes[env]} (seed {self._seed_of(env)}), "
            f"step {self._lengths[env]}: {sentence}"
        )

    def _seed_of(self, env: int) -> int:
        """The seed of an environment's running episode."""
        if self._list:
            return self._list[self._playlist.current[env] % len(self._list)]
        sequence = np.random.SeedSequence(self._seed, spawn_key=(env, int(self._episodes[env])))
        # Of 31 bits, since some environments keep their seed in a signed number.
        return int(sequence.generate_state(1)[0]) >> 1

    def _next_episode(self, which: Bool[np.ndarray, " env"]) -> Float[np.ndarray, "env obs"]:
        if self._list and (self._episodes >= 0).all():
            self._playlist.end(np.flatnonzero(which))
        self._episodes = self._episodes + which
        return self._reset(which)

    def _reset(self, which: Bool[np.ndarray, " env"]) -> Float[np.ndarray, "env obs"]:
        """Begin the environments' present episodes, and return all observations."""
        self._lengths = np.where(which, 0, self._lengths)
        seeds = [self._seed_of(env) if begins else None for env, begins in enumerate(which)]
        observation = _flat(self._envs.reset(seed=seeds, options={"reset_mask": which})[0])
        self._check(observation, "the observation")
        return observation

    def _replay(self, lengths: Int[np.ndarray, " env"], actions: Float[np.ndarray, "time env act"]) -> None:
        """Play all episodes so that they come to their last step together.

        All environments move at once. One whose turn has not come is given zeros for actions, and begins anew if that
        ends an episode.
        """
        self._observation = self._reset(np.ones(self.num_envs, bool))
        for t in range(len(actions)):
            position = t - len(actions) + lengths
            if t > 0 and (begins := position == 0).any():
                self._reset(begins)
            drawn = np.where(position[:, None] >= 0, actions[position, self._all], 0.0).astype(np.float32)
            moved = self._step(drawn)
            ended = moved.terminated | moved.truncated
            self._observation = self._reset(ended) if ended.any() else moved.observation
        if len(actions) and (lengths == 0).any():
            self._observation = self._reset(lengths == 0)
        self._lengths = lengths.copy()
        self._actions = np.concatenate([actions, np.zeros((64, *actions.shape[1:]), np.float32)])


@dataclass(frozen=True)
class _Moved:
    """A step of all environments, before any reset."""

    observation: Float[np.ndarray, "env obs"]
    reward: Float[np.ndarray, " env"]
    costs: Float[np.ndarray, "env m"]
    terminated: Bool[np.ndarray, " env"]
    truncated: Bool[np.ndarray, " env"]


@dataclass(frozen=True)
class _Program:
    """How a policy acts in all environments, compiled."""

    act: Callable[..., tuple[Float[Array, "env act"], Float[Array, "env act"]]]
    """The first action of a rollout, as drawn and as taken."""
    respond: Callable[..., tuple[Array, Array, Array, Array]]
    """After a step: the memory with its costs, the memory to act with, and the next action, drawn and taken."""


@functools.lru_cache(maxsize=8)
def _program(actor: Actor) -> _Program:
    def act(
        theta: Float[Array, " p"],
        observation: Float[Array, " obs"],
        memory: Float[Array, " memory"],
        noise: Float[Array, " act"],
    ) -> tuple[Float[Array, " act"], Float[Array, " act"]]:
        return actor.both(theta, jnp.concatenate([observation, memory]), noise)

    def respond(
        theta: Float[Array, " p"],
        observation: Float[Array, " obs"],
        memory: Float[Array, " memory"],
        costs: Float[Array, " m"],
        done: Bool[Array, ""],
        noise: Float[Array, " act"],
    ) -> tuple[Float[Array, " memory"], Float[Array, " memory"], Float[Array, " act"], Float[Array, " act"]]:
        remembered = actor.after(memory, costs)
        memory = jnp.where(done, actor.fresh(), remembered)
        return remembered, memory, *act(theta, observation, memory, noise)

    return _Program(
        act=jax.jit(jax.vmap(act, in_axes=(None, 0, 0, 0))),
        respond=jax.jit(jax.vmap(respond, in_axes=(None, 0, 0, 0, 0, 0))),
    )


def _flat(observations: Any) -> Float[np.ndarray, "env obs"]:
    return np.asarray(observations).reshape(len(observations), -1).astype(np.float32)


def _named(text: str) -> Make:
    if (make := resolve(text)) is None:
        raise Unsuitable(
            f"{text} is no environment that Gymnasium knows. Give a registered id such as Pendulum-v1, the module that "
            f"registers it too (package:Id-v0), or a class or function (package.module:make)."
        )
    return make


class _InTurn(SyncVectorEnv):
    """One environment after the other, in this process."""

    def _add_info(self, vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int) -> dict[str, Any]:
        return _kept_apart(vector_infos, env_info)


class _InProcesses(AsyncVectorEnv):
    """Each environment in a process of its own."""

    def _add_info(self, vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int) -> dict[str, Any]:
        return _kept_apart(vector_infos, env_info)


def _kept_apart(infos: dict[str, Any], info: dict[str, Any]) -> dict[str, Any]:
    # Gymnasium would put a cost of all environments into an array of the first one's type: where that says 0, an
    # integer, 0.7 of the next becomes 0.
    infos.setdefault("each", []).append(info)
    return infos


def _in_turn(make: Make, num_envs: int) -> SyncVectorEnv[Any, Any]:
    return _InTurn([make] * num_envs, autoreset_mode=AutoresetMode.DISABLED)


def _in_processes(make: Make, num_envs: int) -> AsyncVectorEnv[Any, Any]:
    try:
        # Forked beside the threads of JAX, a process may wait forever.
        return _InProcesses([make] * num_envs, context="spawn", autoreset_mode=AutoresetMode.DISABLED)
    except (EOFError, ConnectionError) as error:
        raise Unsuitable(
            "An environment could not be made in a process of its own; what it said is above. What makes it must be "
            "importable there: a function of a module, and in a script behind if __name__ == '__main__'. Or do "
            "without processes."
        ) from error
