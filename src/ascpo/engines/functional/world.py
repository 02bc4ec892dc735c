"""One environment as pure JAX functions."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import jax
from jaxtyping import Array, Bool, Float, Key, PyTree

from ascpo.engines.contract import HasSizes

State: TypeAlias = PyTree
RandomKey: TypeAlias = Key[Array, ""]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Transition:
    """The result of a step, in one environment or in many."""

    state: State
    reward: Float[Array, "*axes"]
    costs: Float[Array, "*axes m"]
    terminated: Bool[Array, "*axes"]
    truncated: Bool[Array, "*axes"]
    margins: Float[Array, "*axes m"] | None = None
    """How far the state is beyond the border where each cost begins: negative if it is safe. None in a world without
    margins."""


@runtime_checkable
class World(HasSizes, Protocol):
    """One environment as pure functions. A state is any pytree of arrays, whose structure and shapes never change.

    A world may also have `action_bounds`, the lowest and the highest action, to which the policy's actions are scaled,
    and `max_episode_steps`, after which an episode is truncated.
    """

    def begin(self, key: RandomKey) -> State:
        """The first state of an episode."""
        ...

    def observe(self, state: State) -> Float[Array, " obs"]: ...
    def step(self, state: State, action: Float[Array, " act"], key: RandomKey) -> Transition: ...
