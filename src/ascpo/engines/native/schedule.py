"""Which episode follows in each environment: the next of its seed, or one of a list."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer

from ascpo.engines.programs import programs_of
from ascpo.engines.rollout import Origin, Playlist
from ascpo.guard.layout import draw_many, keys_for
from ascpo.guard.task import Task


class Endless:
    """The episodes of each environment's seed, in order.

    Their layouts are drawn ahead, some for each environment. How many depends on the number of environments alone, so
    that the same ones are drawn together in whatever company.
    """

    def __init__(
        self,
        task: Task,
        seeds: Integer[np.ndarray, " env"],
        episodes: Integer[np.ndarray, " env"] | None = None,
        taken: Integer[np.ndarray, " env"] | None = None,
    ) -> None:
        """Before the first episodes, or at these: `taken` of them were of those drawn ahead."""
        self.seeds: Integer[np.ndarray, " env"] = np.array(seeds).astype(np.uint32)
        num_envs = len(self.seeds)
        self.episodes: Int[np.ndarray, " env"] = np.full(num_envs, -1) if episodes is None else np.array(episodes, int)
        """The numbers of the running episodes among those of their seeds."""
        self.taken: Int[np.ndarray, " env"] = np.zeros(num_envs, np.int32)
        """How many of those drawn ahead have begun."""
        if taken is not None:
            self.taken[:] = taken
        self.used: Int[Array, " env"] = jnp.asarray(self.taken.copy())
        """The same, for a program to look up which is next."""
        self._task = task
        self._size = max(2, min(16, 512 // num_envs))
        """Episodes drawn ahead, per environment."""
        self._drawn: _Block | None = None

    @property
    def ahead(self) -> Float[Array, "env block packed"]:
        """The beginnings of episodes drawn together, as packed memories."""
        return self._block.rows

    def take(self, which: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n pillars 3"]:
        """The next episode begins in these environments, in rising order. Returns where its pillars stand."""
        pillars = self._block.pillars[which, self.taken[which]]
        self.episodes[which] += 1
        self.taken[which] += 1
        if (self.taken[which] >= self._size).any():
            self.taken[:], self._drawn = 0, None
        self.used = jnp.asarray(self.taken.copy())
        return pillars

    @property
    def _block(self) -> "_Block":
        """Drawn when it is needed."""
        if self._drawn is None:
            num_envs, programs = len(self.seeds), programs_of(self._task)
            numbers = (self.episodes - self.taken)[:, None] + 1 + np.arange(self._size)
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


class Listed:
    """The episodes of a list, as a `Playlist` deals them out. After the last one comes the first one again."""

    def __init__(self, task: Task, origins: Sequence[Origin], num_envs: int) -> None:
        self._list = _List.drawn(task, origins)
        self._playlist: Playlist | None = None
        self.seeds: Integer[np.ndarray, " env"] = np.zeros(num_envs, np.uint32)
        self.episodes: Int[np.ndarray, " env"] = np.full(num_envs, -1)
        self.ahead: Float[np.ndarray, "env 1 packed"] = self._list.rows(np.arange(num_envs))
        self.used: Int[np.ndarray, " env"] = np.zeros(num_envs, np.int32)

    def take(self, which: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n pillars 3"]:
        """The next episode begins in these environments, in rising order. Returns where its pillars stand."""
        if self._playlist is None:
            # The first ones are taken by all environments at once.
            self._playlist = Playlist(len(self.seeds))
        else:
            self._playlist.end(which)
        places = self._playlist.current[which]
        self.seeds[which], self.episodes[which] = self._list.origins(places)
        self.ahead = self._list.rows(self._playlist.reserved)
        return self._list.pillars(places)


Succession: TypeAlias = Endless | Listed
"""The same four things to see (`seeds`, `episodes`, `ahead`, `used`), and `take`."""


@dataclass(frozen=True)
class _List:
    """The beginnings of a list of episodes. Places beyond its end are counted from its beginning again."""

    seeds: Integer[np.ndarray, " n"]
    numbers: Int[np.ndarray, " n"]
    begun: Float[np.ndarray, "n 1 packed"]
    places: Float[np.ndarray, "n pillars 3"]

    @staticmethod
    def drawn(task: Task, origins: Sequence[Origin], together: int = 512) -> "_List":
        """Some together, always as many, so that it is compiled once."""
        seeds, numbers = np.array(origins, np.int64).T
        rows, pillars = [], []
        for first in range(0, len(seeds), together):
            some = np.arange(first, first + together) % len(seeds)
            keys = keys_for(seeds[some].astype(np.uint32), numbers[some])
            begun, places = programs_of(task).begin(draw_many(task.rules, keys))
            rows.append(np.asarray(begun))
            pillars.append(np.asarray(places))
        every, n = np.concatenate(rows), len(seeds)
        return _List(seeds.astype(np.uint32), numbers, every[:n, None], np.concatenate(pillars)[:n])

    def rows(self, which: Int[np.ndarray, " k"]) -> Float[np.ndarray, "k 1 packed"]:
        return self.begun[which % len(self.seeds)]

    def pillars(self, which: Int[np.ndarray, " k"]) -> Float[np.ndarray, "k pillars 3"]:
        return self.places[which % len(self.seeds)]

    def origins(self, which: Int[np.ndarray, " k"]) -> tuple[Integer[np.ndarray, " k"], Int[np.ndarray, " k"]]:
        return self.seeds[which % len(self.seeds)], self.numbers[which % len(self.seeds)]
