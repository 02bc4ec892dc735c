"""The Gymnasium engine: copies of any environment, stepped side by side.

An episode is a function of (seed, environment, number of the episode, actions), for as long as the environment is one
of its own seed and actions. So the engine can be put back into the middle of an episode: it begins the episode again
and plays the same actions.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import jax
import numpy as np
from gymnasium.spaces import Box
from jaxtyping import Bool, Float, Int

from ascpo.engines.actor import Acted, Actor, augment
from ascpo.engines.contract import (
    EpisodeId,
    Noises,
    Rollout,
    RunBatch,
    Snapshot,
    Thetas,
    check_snapshots,
    only_run,
    scaled,
)
from ascpo.engines.gymnasium.errors import Faulty, Unsuitable
from ascpo.engines.gymnasium.inspection import inspect
from ascpo.engines.gymnasium.naming import Info, MakeEnv, resolve
from ascpo.engines.gymnasium.program import policy_program
from ascpo.engines.gymnasium.seeding import DrawnSeeds, EpisodeSeeds, ListedSeeds
from ascpo.engines.gymnasium.trial import costs_of
from ascpo.engines.gymnasium.vectorization import in_processes, in_turn

PerEnv: TypeAlias = Int[np.ndarray, " env"]


class GymnasiumEngine:
    """Environments that `make` makes: a function of no arguments, or the name of one (see `resolve`). For one run."""

    max_runs: int | None = 1

    def __init__(self, make: str | MakeEnv, num_envs: int, *, processes: bool = False) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs={num_envs}: ask for at least one environment.")
        make = _named(make) if isinstance(make, str) else make
        found = inspect(make)
        self.envs_per_run = num_envs
        self.observation_size = found.observation_size
        self.action_size = found.action_size
        self.cost_names = found.cost_names
        self.notes = found.notes
        self._envs = in_processes(make, num_envs) if processes else in_turn(make, num_envs)
        space = self._envs.single_action_space
        assert isinstance(space, Box)  # the inspection refuses others
        self._space = space
        self.action_bounds = np.array(found.low, np.float32), np.array(found.high, np.float32)
        scales = np.isfinite(self.action_bounds).all(axis=0).reshape(space.shape)
        self._lowest, self._highest = np.where(scales, space.low, -np.inf), np.where(scales, space.high, np.inf)
        self._all = np.arange(num_envs)

    def start(self, batches: Sequence[RunBatch]) -> None:
        run = only_run(batches)
        self._begin(run.actor, DrawnSeeds(run.seeds[0], run.seeding))

    def start_at(self, actor: Actor, episodes: Sequence[EpisodeId]) -> None:
        self._begin(actor, ListedSeeds(episodes, self.envs_per_run))

    def _begin(self, actor: Actor, seeds: EpisodeSeeds) -> None:
        self._actor, self._seeds = actor, seeds
        # Of each environment's running episode: its number, its steps so far, and its actions so far, as drawn.
        self._episodes: PerEnv = np.full(self.envs_per_run, -1)
        self._lengths: PerEnv = np.zeros(self.envs_per_run, int)
        self._actions = np.zeros((64, self.envs_per_run, self.action_size), np.float32)
        self.cut()

    def cut(self) -> None:
        self._observation = self._next_episode(np.ones(self.envs_per_run, bool))
        """Raw."""
        self._augmentation = np.tile(np.asarray(self._actor.initial()), (self.envs_per_run, 1))

    def collect(self, thetas: Thetas, noises: Noises) -> list[Rollout]:
        theta, noise = thetas[0][0], np.asarray(noises[0])[0]
        program = policy_program(self._actor)
        acted: Acted = jax.device_get(program.act(theta, self._observation, self._augmentation, noise[0]))
        steps: list[Rollout] = []
        # The last step's action is never taken: the next rollout's policy is another.
        for next_noise in np.concatenate([noise[1:], noise[:1]]):
            moved = self._step(acted.executed)
            self._observation = self._next_episode(moved.done) if moved.done.any() else moved.observation
            after, self._augmentation, following = jax.device_get(
                program.respond(theta, self._observation, self._augmentation, moved.costs, moved.done, next_noise)
            )
            steps.append(Rollout.of(acted, moved, augment(moved.observation, after)))
            acted = following
        return [jax.tree.map(lambda *leaves: np.stack(leaves)[None], *steps)]

    def snapshots(self) -> Callable[[int], Snapshot]:
        snapshot: Snapshot = {
            "episodes": self._episodes,
            "lengths": self._lengths,
            "actions": self._actions[: self._lengths.max()],
            "observation": self._observation,
            "memory": self._augmentation,
        }
        return [{name: part.copy() for name, part in snapshot.items()}].__getitem__

    def restore(self, snapshots: Sequence[Snapshot]) -> None:
        """Begin the episodes again and play their actions."""
        check_snapshots(snapshots, 1, self.envs_per_run)
        snapshot = snapshots[0]
        self._episodes, self._augmentation = snapshot["episodes"].copy(), snapshot["memory"].copy()
        self._replay(snapshot["lengths"], snapshot["actions"])
        if not np.array_equal(self._observation, snapshot["observation"]):
            found = "The environment does not repeat itself: the same seeds and actions led to other observations."
            remedy = "Let reset(seed=...) decide all that is random."
            warnings.warn(f"{found} So the resumed run will differ from one without a stop. {remedy}", stacklevel=2)

    def close(self) -> None:
        self._envs.close()

    def _step(self, drawn: Float[np.ndarray, "env act"]) -> "_Moved":
        if self._lengths.max() == len(self._actions):
            self._actions = np.concatenate([self._actions, np.zeros_like(self._actions)])
        self._actions[self._lengths, self._all] = drawn
        self._lengths += 1
        observation, reward, *ends, infos = self._envs.step(self._to_space(drawn))
        with np.errstate(over="ignore"):
            moved = _Moved(_flat(observation), reward.astype(np.float32), self._costs(infos["each"]), *ends)
        self._check(moved.reward[:, None], "The reward")
        self._check(moved.costs, "A cost")
        self._check(moved.observation, "The observation")
        return moved

    def _to_space(self, drawn: Float[np.ndarray, "env act"]) -> np.ndarray:
        """As the environments want their actions."""
        actions = scaled(drawn, *self.action_bounds).reshape(self.envs_per_run, *self._space.shape)
        if np.issubdtype(self._space.dtype, np.integer):
            actions = np.rint(actions)
        # Rounding may have led past a bound by a hair, and some environments refuse that.
        return np.clip(actions, self._lowest, self._highest).astype(self._space.dtype)

    def _costs(self, infos: Sequence[Info]) -> Float[np.ndarray, "env m"]:
        costs = np.empty((self.envs_per_run, len(self.cost_names)), np.float32)
        for env, info in enumerate(infos):
            try:
                found, m = costs_of(info), costs.shape[1]
                if len(found) != m:
                    raise ValueError(f"There are {len(found)} costs, where there were {m} before. Give all of them.")
            except ValueError as error:
                raise self._faulty(env, str(error)) from None
            costs[env] = found
        return costs

    def _check(self, values: Float[np.ndarray, "env n"], what: str) -> None:
        if np.isfinite(values).all():
            return
        env, entry = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
        found = f"{what} (entry {entry})" if values.shape[1] > 1 else what
        raise self._faulty(env, f"{found} is {values[env, entry]}. Reset it with this seed, and look for the cause.")

    def _faulty(self, env: int, sentence: str) -> Faulty:
        episode, step = int(self._episodes[env]), self._lengths[env]
        seed = self._seeds.seed_of(env, episode)
        return Faulty(f"Environment {env}, episode {episode} (seed {seed}), step {step}: {sentence}")

    def _next_episode(self, which: Bool[np.ndarray, " env"]) -> Float[np.ndarray, "env obs"]:
        if (self._episodes >= 0).all():
            self._seeds.end(np.flatnonzero(which))
        self._episodes = self._episodes + which
        return self._reset(which)

    def _reset(self, which: Bool[np.ndarray, " env"]) -> Float[np.ndarray, "env obs"]:
        """Begin the environments' present episodes, and return all observations."""
        self._lengths = np.where(which, 0, self._lengths)
        running = enumerate(zip(which, self._episodes.tolist(), strict=True))
        seeds = [self._seeds.seed_of(env, episode) if begins else None for env, (begins, episode) in running]
        observation = _flat(self._envs.reset(seed=seeds, options={"reset_mask": which})[0])
        self._check(observation, "The observation")
        return observation

    def _replay(self, lengths: PerEnv, actions: Float[np.ndarray, "time env act"]) -> None:
        """Play all episodes so that they come to their last step together.

        All environments move at once. One whose turn has not come is given zeros for actions, and begins anew if that
        ends an episode.
        """
        self._observation = self._reset(np.ones(self.envs_per_run, bool))
        for t in range(len(actions)):
            position = t - len(actions) + lengths
            if t > 0 and (begins := position == 0).any():
                self._reset(begins)
            drawn = np.where(position[:, None] >= 0, actions[position, self._all], 0.0).astype(np.float32)
            moved = self._step(drawn)
            self._observation = self._reset(moved.done) if moved.done.any() else moved.observation
        if len(actions) and (lengths == 0).any():
            self._observation = self._reset(lengths == 0)
        self._lengths = lengths.copy()
        self._actions = np.concatenate([actions, np.zeros((64, *actions.shape[1:]), np.float32)])


@dataclass(frozen=True)
class _Moved:
    """A step of all environments, before any reset."""

    observation: Float[np.ndarray, "env obs"]
    """Raw."""
    reward: Float[np.ndarray, " env"]
    costs: Float[np.ndarray, "env m"]
    terminated: Bool[np.ndarray, " env"]
    truncated: Bool[np.ndarray, " env"]

    @property
    def done(self) -> Bool[np.ndarray, " env"]:
        return self.terminated | self.truncated


def _flat(observations: np.ndarray) -> Float[np.ndarray, "env obs"]:
    return np.asarray(observations).reshape(len(observations), -1).astype(np.float32)


def _named(text: str) -> MakeEnv:
    if (make := resolve(text)) is None:
        give = "a registered id such as Pendulum-v1, the module that registers it too (package:Id-v0), or a class or"
        raise Unsuitable(f"{text} is no environment that Gymnasium knows. Give {give} function (package.module:make).")
    return make
