"""Which seed an environment's next episode is reset with: one drawn from the run's seed, or one of a list.

Seeds have 31 bits, since some environments keep theirs in a signed number.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from ascpo.engines.contract import EpisodeId
from ascpo.engines.playlist import Playlist


@runtime_checkable
class EpisodeSeeds(Protocol):
    """The seeds of the running episodes."""

    def end(self, envs: Int[np.ndarray, " n"]) -> None:
        """The episodes of these environments, in rising order, have ended."""
        ...

    def seed_of(self, env: int, episode: int) -> int:
        """The seed of the environment's running episode, which has this number."""
        ...


class DrawnSeeds:
    """A function of the run's seed, the environment and the number of the episode."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def end(self, envs: Int[np.ndarray, " n"]) -> None:
        """The number of the episode says it all."""

    def seed_of(self, env: int, episode: int) -> int:
        sequence = np.random.SeedSequence(self._seed, spawn_key=(env, episode))
        return int(sequence.generate_state(1)[0]) >> 1


class ListedSeeds:
    """The seeds of a list of episodes, as a `Playlist` deals them out. The numbers of the episodes are not needed."""

    def __init__(self, episodes: Sequence[EpisodeId], num_envs: int) -> None:
        self._seeds = tuple(seed % 2**31 for seed, _ in episodes)
        self._playlist = Playlist(num_envs)

    def end(self, envs: Int[np.ndarray, " n"]) -> None:
        self._playlist.end(envs)

    def seed_of(self, env: int, episode: int) -> int:
        return self._seeds[self._playlist.current[env] % len(self._seeds)]
