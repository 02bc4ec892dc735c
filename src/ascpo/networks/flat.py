"""A network as one vector of parameters: what trust regions step in, and what an engine is handed."""

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

Network = TypeVar("Network", bound=eqx.Module)


def flatten(network: Network) -> tuple[Float[Array, " p"], Callable[[Float[Array, " p"]], Network]]:
    """The parameters, and the way back from parameters to the network."""
    arrays, rest = eqx.partition(network, eqx.is_inexact_array)
    theta, unravel = ravel_pytree(arrays)
    return theta, lambda theta: eqx.combine(unravel(theta), rest)
