"""Which seed an environment's next episode is reset with: one drawn from the run's seed, or one of a list.

Seeds have 31 bits, since some environments keep theirs in a signed number. Both kinds have
    end        the episodes of these environments, in rising order, have ended
    seed_of    the seed of an environment's running episode, which has this number
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Int

from ascpo.engines.contract import EpisodeId
from ascpo.engines.playlist import Playlist


@dataclass(frozen=True)
class DrawnSeeds:
    """A function of the run's seed, the environment and the number of the episode."""

    seed: int

    def end(self, envs: Int[np.ndarray, " n"]) -> None:
        """The number of the episode says it all."""

    def seed_of(self, env: int, episode: int) -> int:
        sequence = np.random.SeedSequence(self.seed, spawn_key=(env, episode))
        return int(sequence.generate_state(1)[0]) >> 1


class ListedSeeds:
    """The seeds of a list of episodes, as a `Playlist` deals them out. The numbers of the episodes are not needed."""

    def __init__(self, episodes: Sequence[EpisodeId], num_envs: int) -> None:
        self._seeds = tuple(seed % 2**31 for seed, _ in episodes)
        self._playlist = Playlist(num_envs)
        self.end = self._playlist.end

    def seed_of(self, env: int, episode: int) -> int:
        return self._seeds[self._playlist.current[env] % len(self._seeds)]


EpisodeSeeds: TypeAlias = DrawnSeeds | ListedSeeds
