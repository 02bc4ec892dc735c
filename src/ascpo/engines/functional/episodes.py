"""The choice of episodes as pure functions: the next one of an environment's seed, or one of a list.

Both kinds have
    ids     the running episode of each environment: the two words of its seed, and its number
    end     the state after the running episodes of some environments have ended
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key, UInt32

from ascpo.engines.playlist import Playlist
from ascpo.seeding import EnvSeeds, EpisodeId, words

Ids: TypeAlias = UInt32[Array, "_env 3"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SeedEpisodes:
    """The episodes of each environment's seed, in order."""

    seeds: UInt32[Array, "env 2"]
    numbers: UInt32[Array, " env"]

    @staticmethod
    def of(seeds: EnvSeeds) -> "SeedEpisodes":
        return SeedEpisodes(jnp.asarray(words(seeds)), jnp.zeros(len(seeds), jnp.uint32))

    @property
    def ids(self) -> Ids:
        return jnp.concatenate([self.seeds, self.numbers[:, None]], axis=1)

    def end(self, which: Bool[Array, " env"]) -> "SeedEpisodes":
        return replace(self, numbers=self.numbers + which)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ListedEpisodes:
    """The episodes of a list, in the order of a `Playlist`. Idle environments repeat the first one."""

    listed: UInt32[Array, "episode 3"]
    current: Int[Array, " env"]
    """Indices into the list, modulo its length."""
    reserved: Int[Array, " env"]
    following: Int[Array, ""]
    takes_part: Bool[Array, " env"]

    @staticmethod
    def of(episodes: Sequence[EpisodeId], num_envs: int, width: int) -> "ListedEpisodes":
        """The state for `num_envs` environments, and idle ones up to `width`."""
        seeds, numbers = np.array(episodes, np.int64).T
        listed = np.concatenate([words(seeds), numbers[:, None].astype(np.uint32)], axis=1)
        playlist, idle = Playlist(num_envs), width - num_envs
        current, reserved = (jnp.asarray(np.pad(x, (0, idle))) for x in (playlist.current, playlist.reserved))
        return ListedEpisodes(
            jnp.asarray(listed), current, reserved, jnp.int32(2 * num_envs), jnp.arange(width) < num_envs
        )

    @property
    def ids(self) -> Ids:
        return self.listed[self.current % len(self.listed)]

    def end(self, which: Bool[Array, " env"]) -> "ListedEpisodes":
        which = which & self.takes_part
        dealt = self.following + jnp.cumsum(which) - 1
        return replace(
            self,
            current=jnp.where(which, self.reserved, self.current),
            reserved=jnp.where(which, dealt, self.reserved),
            following=self.following + jnp.sum(which),
        )


Episodes: TypeAlias = SeedEpisodes | ListedEpisodes


def step_keys(ids: Ids, steps: Int[Array, " env"]) -> Key[Array, " env"]:
    """The random key of a step of each episode. Step 0 is the start of the episode."""

    def key(words: UInt32[Array, " 3"], step: Int[Array, ""]) -> Key[Array, ""]:
        seed = jax.random.wrap_key_data(words[:2], impl="threefry2x32")
        return jax.random.fold_in(jax.random.fold_in(seed, words[2]), step)

    return jax.vmap(key)(ids, steps)


def episode_id(words: UInt32[np.ndarray, " 3"]) -> EpisodeId:
    """The episode of three words of `ids`."""
    high, low, number = words.tolist()
    return high << 32 | low, number
