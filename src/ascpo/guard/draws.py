"""Keys of episodes, and uniform draws from them, which are the same on every device."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import threefry_2x32
from jaxtyping import Array, Float, Int, Integer, UInt32

from ascpo.seeding import words


def keys_for(seeds: Integer[np.ndarray, " n"], episodes: Integer[np.ndarray, " n"]) -> UInt32[np.ndarray, "n 3"]:
    """The keys of the given episodes of the given seeds."""
    return np.asarray(keys_of(jnp.asarray(words(seeds)), jnp.asarray(episodes, jnp.uint32)))


@jax.jit
def keys_of(seeds: UInt32[Array, "n 2"], episodes: Integer[Array, " n"]) -> UInt32[Array, "n 3"]:
    """The same, on the device, from seeds as two words.

    The key of a seed with a purpose is the seed and the number of the episode, counted from 1, without hashing. So two
    episodes never have the same key. Other seeds have one word: their episodes are hashed, and the last word of their
    keys is 0.
    """
    numbers = episodes.astype(jnp.uint32)
    zeros = jnp.zeros_like(numbers)
    fields = jnp.stack([*seeds.T, numbers + 1], axis=-1)
    checksums = jnp.stack([*_hash(seeds, zeros, numbers), zeros], axis=-1)
    return jnp.where(seeds[:, :1] == 0, checksums, fields)


def hashed(keys: UInt32[Array, "n 3"], number: Int[Array, " n"]) -> UInt32[Array, "2 n"]:
    """Two fresh words for each key and number."""
    return _hash(keys[:, :2], keys[:, 2], number.astype(jnp.uint32))


def _hash(keys: UInt32[Array, "n 2"], high: UInt32[Array, " n"], low: UInt32[Array, " n"]) -> UInt32[Array, "2 n"]:
    """Threefry: for one key, different numbers have different words. `high` 0 is `jax.random.fold_in`."""
    return jax.vmap(threefry_2x32)(keys, jnp.stack([high, low], axis=-1)).T


def uniform(
    seeds: UInt32[Array, "2 n"], count: Int[Array, "draws #n"] | Int[np.ndarray, "draws #n"]
) -> Float[Array, "2 draws n"]:
    """Two rows of draws from [0, 1): a counter from each seed, hashed by the finaliser of MurmurHash3.

    With the hash of the keys, the draws would take most of a layout's time.
    """
    z = seeds[:, None, :] + jnp.uint32(0x9E3779B9) * jnp.asarray(count).astype(jnp.uint32)
    z = (z ^ (z >> 16)) * jnp.uint32(0x85EBCA6B)
    z = (z ^ (z >> 13)) * jnp.uint32(0xC2B2AE35)
    return ((z ^ (z >> 16)) >> 8).astype(jnp.float32) * 2.0**-24
