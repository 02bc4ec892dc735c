"""The Gymnasium engine: copies of any environment, stepped side by side.

An episode is a function of seed, environment, number of the episode and actions, if the environment itself is a
function of seed and actions. So the engine can restore the middle of an episode: it starts the episode again and
repeats the actions.
"""

import logging
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias, cast

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from ascpo.engines.actor import Acted, Actor, augment
from ascpo.engines.contract import (
    Noises,
    Rollout,
    RunBatch,
    Snapshot,
    Thetas,
    check_snapshots,
    only_run,
    scaled,
)
from ascpo.engines.gymnasium.checked import Expected, Fault, Moved, Step
from ascpo.engines.gymnasium.errors import Faulty, Unsuitable
from ascpo.engines.gymnasium.inspection import ENDLESS, inspect
from ascpo.engines.gymnasium.naming import AnyEnv, MakeEnv, name_of, named
from ascpo.engines.gymnasium.processes import SubprocessCopies, inspect_apart
from ascpo.engines.gymnasium.program import policy_program
from ascpo.engines.gymnasium.recovery import Recovery
from ascpo.engines.gymnasium.seeding import DrawnSeeds, EpisodeSeeds, ListedSeeds
from ascpo.engines.gymnasium.trial import NEGATIVE
from ascpo.engines.gymnasium.vectorization import Copies, SyncCopies
from ascpo.engines.inspection import refuse_limit
from ascpo.engines.replay import Scene, SceneChoice, ScenePool
from ascpo.engines.settings import STEP_TIMEOUT
from ascpo.seeding import EpisodeId

_log = logging.getLogger(__name__)
PerEnv: TypeAlias = Int[np.ndarray, " env"]


class GymnasiumEngine:
    """Environments of one run. `make` is a function without arguments that makes one, or its name (see `resolve`)."""

    max_runs: int | None = 1

    def __init__(
        self,
        make: str | MakeEnv,
        num_envs: int,
        *,
        processes: bool = False,
        step_timeout: float = STEP_TIMEOUT,
        restart_limits: tuple[float, ...] | None = None,
        max_episode_steps: int | None = None,
        first: object = None,
    ) -> None:
        """With `restart_limits`, a copy whose process dies is replaced, and its episode exceeds these limits.

        There is one limit for each cost, or one for all. Episodes are truncated after `max_episode_steps`. `first` is
        an environment that `make` has made already, for the inspection.
        """
        if num_envs < 1:
            raise ValueError(f"num_envs={num_envs}: ask for at least one environment.")
        self._name = make if isinstance(make, str) else name_of(make)
        make = named(make) if isinstance(make, str) else make
        tried = make if first is None else lambda: cast(AnyEnv, first)
        found = inspect_apart(tried) if processes else inspect(tried)
        if max_episode_steps is not None:
            refuse_limit(max_episode_steps, found.time_limit)
        self.envs_per_run = num_envs
        self.observation_size = found.observation_size
        self.action_size = found.action_size
        self.cost_names = found.cost_names
        self.has_margins = found.has_margins
        self.notes = tuple(note for note in found.notes if note != ENDLESS or max_episode_steps is None)
        self._space = found.spaces[1]
        self.action_bounds = np.array(found.low, np.float32), np.array(found.high, np.float32)
        scales = np.isfinite(self.action_bounds).all(axis=0).reshape(self._space.shape)
        self._lowest = np.where(scales, self._space.low, -np.inf)
        self._highest = np.where(scales, self._space.high, np.inf)
        self._all = np.arange(num_envs)
        self._negative = NEGATIVE in found.notes
        self._recovery = Recovery(restart_limits, num_envs)
        expected = Expected(*found.spaces, len(found.cost_names), found.has_margins, max_episode_steps)
        self._copies: Copies = (
            SubprocessCopies(make, num_envs, expected, step_timeout)
            if processes
            else SyncCopies(make, num_envs, expected)
        )
        for env, fault in self._copies.unmade.items():
            self._copies.close()
            raise Unsuitable(f"Environment {env} of {self._name}: {fault.sentence}") from fault.cause

    def start(self, batches: Sequence[RunBatch]) -> None:
        run = only_run(batches)
        choice = SceneChoice(run.replay, run.seeds[0], self.envs_per_run) if run.replay.share else None
        self._begin(run.actor, DrawnSeeds(run.seeds[0], run.seeding, choice))

    def offer(self, pools: Sequence[ScenePool | None]) -> None:
        for pool in pools:
            if self._seeds.choice is not None and pool is not None:
                self._seeds.choice.offer(pool[0])

    def start_at(self, actor: Actor, episodes: Sequence[EpisodeId]) -> None:
        self._begin(actor, ListedSeeds(episodes, self.envs_per_run))

    def _begin(self, actor: Actor, seeds: EpisodeSeeds) -> None:
        self._actor, self._seeds = actor, seeds
        # For each environment's running episode: its number, its steps so far, and its drawn actions so far. An episode
        # with -1 steps has lost its process during its reset, and ends with its first step.
        self._episodes: PerEnv = np.full(self.envs_per_run, -1)
        self._lengths: PerEnv = np.zeros(self.envs_per_run, int)
        self._actions = np.zeros((64, self.envs_per_run, self.action_size), np.float32)
        self._sums = np.zeros((self.envs_per_run, len(self.cost_names)), np.float32)
        """The running episodes' sums of costs."""
        self._observation = np.zeros((self.envs_per_run, self.observation_size), np.float32)
        """Raw."""
        self.cut()

    def cut(self) -> None:
        self._observation = self._next_episode(np.ones(self.envs_per_run, bool))
        self._augmentation = np.tile(np.asarray(self._actor.initial()), (self.envs_per_run, 1))

    def collect(self, thetas: Thetas, noises: Noises) -> list[Rollout]:
        theta, noise = thetas[0][0], np.asarray(noises[0])[0]
        program = policy_program(self._actor)
        acted: Acted = jax.device_get(program.act(theta, self._observation, self._augmentation, noise[0]))
        steps: list[Rollout] = []
        # The last action is never taken, because the next rollout has another policy.
        for next_noise in np.concatenate([noise[1:], noise[:1]]):
            moved, choice = self._step(acted.executed), self._seeds.choice
            scene = None if choice is None else Scene(*choice.scenes.copy())
            self._observation = moved.observation
            if moved.done.any():
                self._observation = self._next_episode(moved.done)
            after, self._augmentation, following = jax.device_get(
                program.respond(theta, self._observation, self._augmentation, *moved.of_costs, moved.done, next_noise)
            )
            steps.append(replace(Rollout.of(acted, moved, augment(moved.observation, after)), scene=scene))
            acted = following
        return [jax.tree.map(lambda *leaves: np.stack(leaves)[None], *steps)]

    def snapshots(self) -> Callable[[int], Snapshot]:
        snapshot: Snapshot = {
            "episodes": self._episodes,
            "lengths": self._lengths,
            "actions": self._actions[: max(self._lengths.max(), 0)],
            "observation": self._observation,
            "memory": self._augmentation,
        }
        if self._seeds.choice is not None:
            snapshot |= self._seeds.choice.snapshot()
        return [{name: part.copy() for name, part in snapshot.items()}].__getitem__

    def restore(self, snapshots: Sequence[Snapshot]) -> None:
        """Start the episodes again and repeat their actions."""
        check_snapshots(snapshots, 1, self.envs_per_run)
        snapshot = snapshots[0]
        self._episodes, self._augmentation = snapshot["episodes"].copy(), snapshot["memory"].copy()
        if self._seeds.choice is not None:
            self._seeds.choice.restore(snapshot)
        with self._recovery.refused():
            self._replay(snapshot["lengths"], snapshot["actions"])
        if not np.array_equal(self._observation, snapshot["observation"]):
            found = "The environment does not repeat itself: the same seeds and actions led to other observations."
            remedy = "Let reset(seed=...) decide all that is random."
            warnings.warn(f"{found} So the resumed run will differ from one without a stop. {remedy}", stacklevel=2)

    def close(self) -> None:
        for env, fault in self._copies.close().items():
            faulty = Faulty(f"Environment {env} of {self._name}: {fault.sentence}")
            if sys.exception() is None:
                raise faulty from fault.cause
            # An exception that is being raised is more important.
            _log.warning("%s", faulty)

    def _step(self, drawn: Float[np.ndarray, "env act"]) -> Moved:
        if self._lengths.max() == len(self._actions):
            self._actions = np.concatenate([self._actions, np.zeros_like(self._actions)])
        self._actions[self._lengths, self._all] = drawn
        sound = np.flatnonzero(self._lengths >= 0).tolist()
        self._lengths += 1
        actions = self._to_space(drawn)
        found = self._copies.step({env: actions[env] for env in sound})
        steps = [self._survived(env, found.get(env)) for env in range(self.envs_per_run)]
        moved = Moved.of(steps, self.has_margins)
        self._sums = np.where(moved.done[:, None], 0.0, self._sums + moved.costs)
        if not self._negative and (moved.costs < 0.0).any():
            self._negative = True
            env = int(np.flatnonzero((moved.costs < 0.0).any(axis=1))[0])
            _log.warning("%s: %s", self._where(env, f"step {self._lengths[env]}"), NEGATIVE)
        return moved

    def _survived(self, env: int, found: Step | Fault | None) -> Step:
        """The step, or the last step of an episode whose process has died, now or during its reset."""
        if isinstance(found, Step):
            return found
        if found is not None:
            self._recover(env, found, f"step {self._lengths[env]}")
        return self._recovery.violation(self._observation[env], self._sums[env])

    def _recover(self, env: int, fault: Fault, when: str) -> None:
        """Replace a copy that died, if restarts are enabled. Raise every other fault."""
        where = self._where(env, when)
        again = self._copies.restart(env) if self._recovery.may_restart(env, fault, where) else fault
        if again is not None:
            raise Faulty(f"{where}: {again.sentence}") from again.cause

    def _where(self, env: int, when: str) -> str:
        episode = int(self._episodes[env])
        seed = self._seeds.seed_of(env, episode)
        return f"Environment {env} of {self._name}, episode {episode} (seed {seed}), {when}"

    def _to_space(self, drawn: Float[np.ndarray, "env act"]) -> np.ndarray:
        """The actions in the shape, type and bounds of the action space."""
        actions = scaled(drawn, *self.action_bounds).reshape(self.envs_per_run, *self._space.shape)
        if np.issubdtype(self._space.dtype, np.integer):
            actions = np.rint(actions)
        # Rounding may have exceeded a bound slightly, which some environments refuse.
        return np.clip(actions, self._lowest, self._highest).astype(self._space.dtype)

    def _next_episode(self, which: Bool[np.ndarray, " env"]) -> Float[np.ndarray, "env obs"]:
        if (self._episodes >= 0).all():
            self._seeds.end(np.flatnonzero(which))
        self._episodes = self._episodes + which
        return self._reset(which)

    def _reset(self, which: Bool[np.ndarray, " env"]) -> Float[np.ndarray, "env obs"]:
        """Reset these environments to their present episodes, and return all observations."""
        self._lengths = np.where(which, 0, self._lengths)
        self._sums[which] = 0.0
        observation = self._observation.copy()
        seeds = {env: self._seeds.seed_of(env, int(self._episodes[env])) for env in np.flatnonzero(which).tolist()}
        begun = self._copies.reset(seeds)
        while lost := {env: fault for env, fault in begun.items() if isinstance(fault, Fault)}:
            for env, fault in lost.items():
                self._recover(env, fault, "reset")
                self._lengths[env] = -1
            begun |= self._copies.reset({env: seeds[env] for env in lost})
        for env, first in begun.items():
            assert not isinstance(first, Fault)
            observation[env] = first
        return observation

    def _replay(self, lengths: PerEnv, actions: Float[np.ndarray, "time env act"]) -> None:
        """Repeat all episodes so that they reach their last step together.

        All environments step together. One whose episode is shorter first gets zeros as actions, and is reset if these
        end an episode.
        """
        self._observation = self._reset(np.ones(self.envs_per_run, bool))
        for t in range(len(actions)):
            position = t - len(actions) + lengths
            if t > 0 and (begins := position == 0).any():
                self._reset(begins)
            drawn = np.where(position[:, None] >= 0, actions[position, self._all], 0.0).astype(np.float32)
            moved = self._step(drawn)
            self._observation = moved.observation
            if moved.done.any():
                self._observation = self._reset(moved.done)
        if len(actions) and (lengths <= 0).any():
            self._observation = self._reset(lengths <= 0)
        self._lengths = lengths.copy()
        self._actions = np.concatenate([actions, np.zeros((64, *actions.shape[1:]), np.float32)])
