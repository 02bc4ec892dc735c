"""The networks of an agent, and what is left of them without their parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree


class Networks(NamedTuple):
    """The networks of an agent, or parts of them."""

    policy: Any
    value: Any
    cost: Any = None
    shield: Any = None


@dataclass(frozen=True)
class Structure:
    """The networks of an agent without their parameters, and the way back from vectors of parameters to networks."""

    static: Networks
    unravel_policy: Callable[[Float[Array, " p"]], PyTree]
    unravel_shield: Callable[[Float[Array, " s"]], PyTree]
    policy_size: int


def structure_of(networks: Networks) -> Structure:
    params, static = eqx.partition(networks, eqx.is_inexact_array)
    theta, unravel_policy = ravel_pytree(params.policy)
    return Structure(static, unravel_policy, ravel_pytree(params.shield)[1], theta.size)
