"""The networks of an agent, and the structure of those that act: the networks without their parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree


class Networks(NamedTuple):
    """The networks of an agent, or one part of each, such as its parameters."""

    policy: PyTree
    value: PyTree
    cost: PyTree = None
    shield: PyTree = None


@dataclass(frozen=True)
class Structure:
    """Policy and shield without their parameters, and functions that turn vectors into their parameters."""

    policy: PyTree
    shield: PyTree
    unravel_policy: Callable[[Float[Array, " p"]], PyTree]
    unravel_shield: Callable[[Float[Array, " s"]], PyTree]
    policy_size: int


def structure_of(policy: eqx.Module, shield: eqx.Module | None) -> Structure:
    policy_params, policy_static = eqx.partition(policy, eqx.is_inexact_array)
    shield_params, shield_static = eqx.partition(shield, eqx.is_inexact_array)
    theta, unravel_policy = ravel_pytree(policy_params)
    return Structure(policy_static, shield_static, unravel_policy, ravel_pytree(shield_params)[1], theta.size)
