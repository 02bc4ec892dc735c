"""Keys of episodes, and uniform draws from them: the same on every device."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer, UInt32

_HASH = "threefry2x32"


def keys_for(seeds: Integer[np.ndarray, " n"], episodes: Integer[np.ndarray, " n"]) -> UInt32[np.ndarray, "n 2"]:
    """The keys of those episodes of those seeds."""
    return np.asarray(keys_of(jnp.asarray(seeds, jnp.uint32), jnp.asarray(episodes, jnp.uint32)))


@jax.jit
def keys_of(seeds: UInt32[Array, " n"], episodes: Integer[Array, " n"]) -> UInt32[Array, "n 2"]:
    """The same, on the device."""
    return jax.vmap(lambda s, e: jax.random.key_data(jax.random.fold_in(jax.random.key(s, impl=_HASH), e)))(
        seeds, episodes
    )


def hashed(keys: UInt32[Array, "n 2"], number: Int[Array, " n"]) -> UInt32[Array, "2 n"]:
    """Two fresh words for each key and number."""
    fold = jax.vmap(lambda key, n: jax.random.key_data(jax.random.fold_in(key, n)))
    return fold(jax.random.wrap_key_data(keys, impl=_HASH), number).T


def uniform(
    seeds: UInt32[Array, "2 n"], count: Int[Array, "draws #n"] | Int[np.ndarray, "draws #n"]
) -> Float[Array, "2 draws n"]:
    """Two rows of draws from [0, 1): a counter from each seed, made random by the finaliser of MurmurHash3.

    Hashing every draw the way keys are hashed would take most of a layout's time.
    """
    z = seeds[:, None, :] + jnp.uint32(0x9E3779B9) * jnp.asarray(count).astype(jnp.uint32)
    z = (z ^ (z >> 16)) * jnp.uint32(0x85EBCA6B)
    z = (z ^ (z >> 13)) * jnp.uint32(0xC2B2AE35)
    return ((z ^ (z >> 16)) >> 8).astype(jnp.float32) * 2.0**-24
