"""Schedules: the next episode of each environment, from its seed, a pool of scenes, or a list.

All schedules have
    seeds, episodes    the seed of each running episode, and its number among those of the seed
    upcoming           some episodes of each environment, as packed memories at their start
    position           the index of the next episode among the upcoming ones
    begin_next         starts the next episode in some environments
"""

from collections.abc import Sequence
from typing import TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Integer

from ascpo.engines.contract import Snapshot
from ascpo.engines.native.programs import begin
from ascpo.engines.playlist import Playlist
from ascpo.engines.replay import SceneChoice
from ascpo.engines.task_step import Beginnings
from ascpo.guard.draws import keys_for
from ascpo.guard.layout import AnyArray, draw_many
from ascpo.guard.task import Task
from ascpo.seeding import EpisodeId

PerEnv: TypeAlias = Integer[np.ndarray, " env"]


class SeedSchedule:
    """The episodes of each environment's seed, in order.

    Their layouts are drawn ahead, a block for each environment. Its size depends only on the number of environments, so
    that a run draws the same blocks with any other runs.
    """

    def __init__(self, task: Task, seeds: PerEnv, episodes: PerEnv | None = None, used: PerEnv | None = None) -> None:
        """Start before the first episodes, or at the given ones, of whose block `used` have already started."""
        num_envs = len(seeds)
        self.seeds: PerEnv = np.array(seeds).astype(np.int64)
        self.episodes: PerEnv = np.full(num_envs, -1) if episodes is None else np.array(episodes, int)
        self.used: PerEnv = np.zeros(num_envs, np.int32) if used is None else np.array(used, np.int32)
        self.position: Int[Array, " env"] = jnp.asarray(self.used.copy())
        self._task = task
        self._size = max(2, min(16, 512 // num_envs))
        """Episodes drawn ahead, per environment."""
        self._drawn: Beginnings | None = None

    @property
    def upcoming(self) -> Float[Array, "env block packed"]:
        return self._block.rows

    def snapshot(self) -> Snapshot:
        return {"seeds": self.seeds.copy(), "episodes": self.episodes.copy(), "used": self.used.copy()}

    def restored(self, arrays: Snapshot) -> "SeedSchedule":
        """The schedule of a snapshot. The layouts are drawn again, from the episode after which they were drawn."""
        return SeedSchedule(self._task, arrays["seeds"], arrays["episodes"], arrays["used"])

    def begin_next(self, which: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n pillars 3"]:
        """The next episode begins in these environments, in rising order. Returns where its pillars stand."""
        pillars = self._block.pillars[which, self.used[which]]
        self.episodes[which] += 1
        self.used[which] += 1
        if (self.used[which] >= self._size).any():
            self.used[:], self._drawn = 0, None
        self.position = jnp.asarray(self.used.copy())
        return pillars

    @property
    def _block(self) -> Beginnings:
        """[env, block]. Drawn when it is needed."""
        if self._drawn is None:
            shape = len(self.seeds), self._size
            numbers = (self.episodes - self.used)[:, None] + 1 + np.arange(self._size)
            rows, pillars = _begin(self._task, np.repeat(self.seeds, self._size), numbers.ravel())
            self._drawn = Beginnings(rows.reshape(*shape, -1), np.asarray(pillars).reshape(*shape, -1, 3))
        return self._drawn


class ReplaySchedule:
    """The episodes of each environment's seed, in order, with replays of scenes of a pool between them."""

    def __init__(self, task: Task, fresh: SeedSchedule, choice: SceneChoice) -> None:
        """Start before the first episodes, or at the positions of both arguments."""
        self._task, self._fresh, self.choice = task, fresh, choice
        self.position: Int[np.ndarray, " env"] = np.zeros(len(fresh.seeds), np.int32)
        self._draw_pool()

    @property
    def seeds(self) -> PerEnv:
        return self._fresh.seeds[self.choice.scenes[0]]

    @property
    def episodes(self) -> PerEnv:
        return self.choice.scenes[1].astype(int)

    @property
    def upcoming(self) -> Float[Array, "env 1 packed"]:
        if self._upcoming is None:
            slots, everywhere = self.choice.slots, np.arange(len(self.position))
            rows = np.asarray(self._fresh.upcoming)[everywhere, self._fresh.used]
            rows = np.where((slots < 0)[:, None], rows, np.asarray(self._pool.rows)[slots])
            self._upcoming = jnp.asarray(rows[:, None])
        return self._upcoming

    def offer(self, pool: Int[AnyArray, "slot 2"]) -> None:
        self.choice.offer(pool)
        self._draw_pool()

    def begin_next(self, which: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n pillars 3"]:
        """The next episode begins in these environments, in rising order. Returns where its pillars stand."""
        slots = self.choice.slots[which]
        pillars = np.asarray(self._pool.pillars)[slots]
        pillars[slots < 0] = self._fresh.begin_next(which[slots < 0])
        self.choice.begin(which)
        self._upcoming = None
        return pillars

    def snapshot(self) -> Snapshot:
        return self._fresh.snapshot() | self.choice.snapshot()

    def restored(self, arrays: Snapshot) -> "ReplaySchedule":
        self.choice.restore(arrays)
        return ReplaySchedule(self._task, self._fresh.restored(arrays), self.choice)

    def _draw_pool(self) -> None:
        envs, numbers = np.maximum(self.choice.pool, 0).T
        self._pool = _begin(self._task, self._fresh.seeds[envs], numbers)
        self._upcoming: Float[Array, "env 1 packed"] | None = None


class ListSchedule:
    """The episodes of a list, as a `Playlist` deals them out.

    An environment for which none is left begins one from the start of the list again, and need not play it.
    """

    def __init__(self, task: Task, episodes: Sequence[EpisodeId], num_envs: int, at_a_time: int = 512) -> None:
        """Layouts are drawn in blocks of one size, so that the program is compiled once."""
        self._ids: Int[np.ndarray, "n 2"] = np.array(episodes, np.int64)
        count, drawn = len(episodes), []
        for first in range(0, count, at_a_time):
            seeds, numbers = self._ids[np.arange(first, first + at_a_time) % count].T
            drawn.append(_begin(task, seeds, numbers))
        self._rows, self._pillars = (np.concatenate(parts)[:count] for parts in zip(*drawn, strict=True))
        self._playlist: Playlist | None = None
        self.seeds: PerEnv = np.zeros(num_envs, np.int64)
        self.episodes: PerEnv = np.full(num_envs, -1)
        self.upcoming: Float[np.ndarray, "env 1 packed"] = self._rows[np.arange(num_envs) % count, None]
        self.position: Int[np.ndarray, " env"] = np.zeros(num_envs, np.int32)

    @property
    def playing(self) -> Bool[np.ndarray, " env"]:
        """The environments that play an episode of the list. In the others its end is past."""
        if self._playlist is None:
            return np.ones(len(self.seeds), bool)
        return self._playlist.current < len(self._ids)

    def begin_next(self, which: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n pillars 3"]:
        """The next episode begins in these environments, in rising order. Returns where its pillars stand."""
        if self._playlist is None:
            # The first episodes start in all environments at once.
            self._playlist = Playlist(len(self.seeds))
        else:
            self._playlist.end(which)
        # Positions beyond the end of the list continue at its start.
        places, reserved = self._playlist.current[which] % len(self._ids), self._playlist.reserved % len(self._ids)
        self.seeds[which], self.episodes[which] = self._ids[places].T
        self.upcoming = self._rows[reserved, None]
        return self._pillars[places]


EpisodeSchedule: TypeAlias = SeedSchedule | ReplaySchedule | ListSchedule


def _begin(task: Task, seeds: Integer[np.ndarray, " n"], numbers: Int[np.ndarray, " n"]) -> Beginnings:
    """The starts of the episodes with these seeds and numbers."""
    return begin(task, draw_many(task.rules, keys_for(seeds, numbers)))
