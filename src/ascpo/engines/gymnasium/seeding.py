"""The seeds with which episodes are reset: those of a training, or those of a list (see `ascpo.seeding`).

Both kinds have
    end        the episodes of these environments, in rising order, have ended
    seed_of    the seed of an environment's running episode, which has this number
    choice     the choice of the scenes that are replayed. None without replay
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Int

from ascpo.engines.playlist import Playlist
from ascpo.engines.replay import SceneChoice
from ascpo.seeding import SCHEMES, EpisodeId, Version, reset_seed


@dataclass(frozen=True)
class DrawnSeeds:
    """Seeds of a training: a function of the run's seed, the environment and the number of the episode.

    With a choice, some episodes are reset with the seed of an earlier one, to replay its scene.
    """

    run: int
    seeding: Version
    choice: SceneChoice | None = None

    def __post_init__(self) -> None:
        if self.choice is not None:
            self.end(np.arange(len(self.choice.begun)))

    def end(self, envs: Int[np.ndarray, " n"]) -> None:
        """Choose the next scenes. Without a choice there is nothing to do, since the number of the episode decides."""
        if self.choice is not None:
            self.choice.begin(envs)

    def seed_of(self, env: int, episode: int) -> int:
        if self.choice is not None:
            env, episode, _ = self.choice.scenes[:, env].tolist()
        return SCHEMES[self.seeding].training_reset(self.run, env, episode)


class ListedSeeds:
    """The seeds of a list of episodes, in the order of a `Playlist`."""

    choice = None

    def __init__(self, episodes: Sequence[EpisodeId], num_envs: int) -> None:
        self._seeds = tuple(reset_seed(*episode) for episode in episodes)
        self._playlist = Playlist(num_envs)
        self.end = self._playlist.end

    def seed_of(self, env: int, episode: int) -> int:
        return self._seeds[self._playlist.current[env] % len(self._seeds)]


EpisodeSeeds: TypeAlias = DrawnSeeds | ListedSeeds
