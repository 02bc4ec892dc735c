"""Multipliers: weights of the costs in the loss, which rise while a limit is violated.

scalar     λ ← max(0, λ + rate·(J_C − w))
network    λ(s) ≥ 0, by gradient ascent on the mean of λ(s)·(Ĉ(s) − w), with Ĉ the observed cost after s
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key, PyTree

from ascpo.networks.policy import mlp


@runtime_checkable
class Multiplier(Protocol):
    """The initial state, the value and the ascent of λ. The state is a pytree of arrays."""

    @property
    def state_dependent(self) -> bool:
        """Whether λ depends on the state, and ascends on the cost after each state."""
        ...

    def init(self, observation_size: int, m: int, hidden: tuple[int, ...], key: Key[Array, ""]) -> PyTree: ...

    def value(self, state: PyTree, observation: Float[Array, "time env obs"]) -> Float[Array, "*axes m"]: ...

    def ascend(
        self,
        state: PyTree,
        observation: Float[Array, "time env obs"],
        violation: Float[Array, " m"],
        cost_to_go: Float[Array, "time env m"] | None,
    ) -> PyTree: ...


@dataclass(frozen=True)
class ScalarMultiplier:
    """One λ for each constraint."""

    rate: float
    state_dependent: bool = False

    def init(self, observation_size: int, m: int, hidden: tuple[int, ...], key: Key[Array, ""]) -> PyTree:
        return jnp.zeros(m)

    def value(self, state: PyTree, observation: Float[Array, "time env obs"]) -> Float[Array, " m"]:
        return state

    def ascend(
        self,
        state: PyTree,
        observation: Float[Array, "time env obs"],
        violation: Float[Array, " m"],
        cost_to_go: Float[Array, "time env m"] | None,
    ) -> PyTree:
        return ascended(state, violation, self.rate)


def ascended(lam: Float[Array, " m"], violation: Float[Array, " m"], rate: float) -> Float[Array, " m"]:
    return jnp.maximum(lam + rate * violation, 0.0)


@dataclass(frozen=True)
class StateMultiplier:
    """λ(s): a network with a softplus output."""

    rate: float
    steps: int = 1
    """Steps of Adam in an epoch."""
    state_dependent: bool = True

    def init(self, observation_size: int, m: int, hidden: tuple[int, ...], key: Key[Array, ""]) -> PyTree:
        layers = mlp(observation_size, m, hidden, key=key).layers
        arrays: PyTree = [(layer.weight, layer.bias) for layer in layers]
        return arrays, optax.adam(self.rate).init(arrays)

    def value(self, state: PyTree, observation: Float[Array, "time env obs"]) -> Float[Array, "time env m"]:
        *hidden, (weight, bias) = state[0]
        x = observation
        for layer_weight, layer_bias in hidden:
            x = jnp.tanh(x @ layer_weight.T + layer_bias)
        return jax.nn.softplus(x @ weight.T + bias)

    def ascend(
        self,
        state: PyTree,
        observation: Float[Array, "time env obs"],
        violation: Float[Array, " m"],
        cost_to_go: Float[Array, "time env m"] | None,
    ) -> PyTree:
        """`cost_to_go` is the observed cost after each state, minus the limit."""
        if cost_to_go is None:
            raise ValueError("A state-dependent multiplier ascends on the cost after each state. Give cost_to_go.")

        def loss(arrays: PyTree) -> Float[Array, ""]:
            return -jnp.mean(jnp.sum(self.value((arrays,), observation) * cost_to_go, axis=-1))

        def step(state: PyTree, _: None) -> tuple[PyTree, None]:
            arrays, adam = state
            change, adam = optax.adam(self.rate).update(jax.grad(loss)(arrays), adam, arrays)
            return (optax.apply_updates(arrays, change), adam), None

        return jax.lax.scan(step, state, None, length=self.steps)[0]
