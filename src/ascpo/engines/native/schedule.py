"""Which episode comes next in each environment: the next of its seed, or one of a list.

Both kinds of schedule have
    seeds, episodes    the seed of each environment, and the number of its running episode among those of the seed
    upcoming           some episodes of each environment, as packed memories at their beginning
    position           which of the upcoming episodes is the next
    begin_next         begins the next episode in some environments
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer

from ascpo.engines.contract import EpisodeId
from ascpo.engines.native.programs import task_programs
from ascpo.engines.playlist import Playlist
from ascpo.guard.layout import draw_many, keys_for
from ascpo.guard.task import Task


class SeedSchedule:
    """The episodes of each environment's seed, in order, without end.

    Their layouts are drawn ahead, some for each environment. How many depends on the number of environments alone, so
    that a run draws the same ones together whatever runs beside it.
    """

    def __init__(
        self,
        task: Task,
        seeds: Integer[np.ndarray, " env"],
        episodes: Integer[np.ndarray, " env"] | None = None,
        used: Integer[np.ndarray, " env"] | None = None,
    ) -> None:
        """Before the first episodes, or at these: `used` of the episodes drawn ahead have begun."""
        self.seeds: Integer[np.ndarray, " env"] = np.array(seeds).astype(np.uint32)
        num_envs = len(self.seeds)
        self.episodes: Int[np.ndarray, " env"] = np.full(num_envs, -1) if episodes is None else np.array(episodes, int)
        self.used: Int[np.ndarray, " env"] = np.zeros(num_envs, np.int32)
        if used is not None:
            self.used[:] = used
        self.position: Int[Array, " env"] = jnp.asarray(self.used.copy())
        self._task = task
        self._size = max(2, min(16, 512 // num_envs))
        """Episodes drawn ahead, per environment."""
        self._drawn: _Block | None = None

    @property
    def upcoming(self) -> Float[Array, "env block packed"]:
        return self._block.rows

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
    def _block(self) -> "_Block":
        """Drawn when it is needed."""
        if self._drawn is None:
            num_envs, programs = len(self.seeds), task_programs(self._task)
            numbers = (self.episodes - self.used)[:, None] + 1 + np.arange(self._size)
            keys = keys_for(np.repeat(self.seeds, self._size), numbers.ravel())
            rows, pillars = programs.begin(draw_many(self._task.rules, keys))
            self._drawn = _Block(
                rows.reshape(num_envs, self._size, -1), np.asarray(pillars).reshape(num_envs, self._size, -1, 3)
            )
        return self._drawn


@dataclass(frozen=True)
class _Block:
    """Episodes drawn together."""

    rows: Float[Array, "env block packed"]
    pillars: Float[np.ndarray, "env block pillars 3"]


class ListSchedule:
    """The episodes of a list, as a `Playlist` deals them out. After the last one comes the first one again."""

    def __init__(self, task: Task, episodes: Sequence[EpisodeId], num_envs: int) -> None:
        self._list = _EpisodeList.drawn(task, episodes)
        self._playlist: Playlist | None = None
        self.seeds: Integer[np.ndarray, " env"] = np.zeros(num_envs, np.uint32)
        self.episodes: Int[np.ndarray, " env"] = np.full(num_envs, -1)
        self.upcoming: Float[np.ndarray, "env 1 packed"] = self._list.rows(np.arange(num_envs))
        self.position: Int[np.ndarray, " env"] = np.zeros(num_envs, np.int32)

    def begin_next(self, which: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n pillars 3"]:
        """The next episode begins in these environments, in rising order. Returns where its pillars stand."""
        if self._playlist is None:
            # The first episodes begin everywhere at once.
            self._playlist = Playlist(len(self.seeds))
        else:
            self._playlist.end(which)
        places = self._playlist.current[which]
        self.seeds[which], self.episodes[which] = self._list.ids(places)
        self.upcoming = self._list.rows(self._playlist.reserved)
        return self._list.pillars(places)


EpisodeSchedule: TypeAlias = SeedSchedule | ListSchedule


@dataclass(frozen=True)
class _EpisodeList:
    """The beginnings of a list of episodes. Places beyond its end are counted from its beginning again."""

    seeds: Integer[np.ndarray, " n"]
    numbers: Int[np.ndarray, " n"]
    begun: Float[np.ndarray, "n 1 packed"]
    places: Float[np.ndarray, "n pillars 3"]

    @staticmethod
    def drawn(task: Task, episodes: Sequence[EpisodeId], at_a_time: int = 512) -> "_EpisodeList":
        """The same number is drawn at a time, so that the program is compiled once."""
        seeds, numbers = np.array(episodes, np.int64).T
        rows, pillars = [], []
        for first in range(0, len(seeds), at_a_time):
            some = np.arange(first, first + at_a_time) % len(seeds)
            keys = keys_for(seeds[some].astype(np.uint32), numbers[some])
            begun, places = task_programs(task).begin(draw_many(task.rules, keys))
            rows.append(np.asarray(begun))
            pillars.append(np.asarray(places))
        every, n = np.concatenate(rows), len(seeds)
        return _EpisodeList(seeds.astype(np.uint32), numbers, every[:n, None], np.concatenate(pillars)[:n])

    def rows(self, which: Int[np.ndarray, " k"]) -> Float[np.ndarray, "k 1 packed"]:
        return self.begun[which % len(self.seeds)]

    def pillars(self, which: Int[np.ndarray, " k"]) -> Float[np.ndarray, "k pillars 3"]:
        return self.places[which % len(self.seeds)]

    def ids(self, which: Int[np.ndarray, " k"]) -> tuple[Integer[np.ndarray, " k"], Int[np.ndarray, " k"]]:
        return self.seeds[which % len(self.seeds)], self.numbers[which % len(self.seeds)]
