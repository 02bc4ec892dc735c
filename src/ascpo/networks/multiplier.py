"""Multipliers: the price of a broken limit, which rises while it is broken.

scalar     λ ← max(0, λ + rate·(J_C − w))
network    λ(s) ≥ 0, by gradient ascent on mean of λ(s)·(Ĉ(s) − w), Ĉ the cost that did follow
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
    """How λ begins, what it is, and how it climbs. Its state is a pytree of arrays."""

    @property
    def of_states(self) -> bool:
        """Whether λ differs from state to state, and climbs on what did follow each."""
        ...

    def start(self, view: int, m: int, hidden: tuple[int, ...], key: Key[Array, ""]) -> PyTree: ...

    def value(self, state: PyTree, view: Float[Array, "time env view"]) -> Float[Array, "*axes m"]: ...

    def climb(
        self,
        state: PyTree,
        view: Float[Array, "time env view"],
        violation: Float[Array, " m"],
        to_go: Float[Array, "time env m"] | None,
    ) -> PyTree: ...


@dataclass(frozen=True)
class Scalar:
    """One λ for each constraint."""

    rate: float
    start_at: float = 0.0
    of_states: bool = False

    def start(self, view: int, m: int, hidden: tuple[int, ...], key: Key[Array, ""]) -> PyTree:
        return jnp.full(m, self.start_at)

    def value(self, state: PyTree, view: Float[Array, "time env view"]) -> Float[Array, " m"]:
        return state

    def climb(
        self,
        state: PyTree,
        view: Float[Array, "time env view"],
        violation: Float[Array, " m"],
        to_go: Float[Array, "time env m"] | None,
    ) -> PyTree:
        return ascend(state, violation, self.rate)


def ascend(lam: Float[Array, " m"], violation: Float[Array, " m"], rate: float) -> Float[Array, " m"]:
    return jnp.maximum(lam + rate * violation, 0.0)


@dataclass(frozen=True)
class OfStates:
    """λ(s): a network with a softplus at its end."""

    rate: float
    steps: int = 1
    """Of Adam, an epoch."""
    of_states: bool = True

    def start(self, view: int, m: int, hidden: tuple[int, ...], key: Key[Array, ""]) -> PyTree:
        layers = mlp(view, m, hidden, key=key).layers
        arrays: PyTree = [(layer.weight, layer.bias) for layer in layers]
        return arrays, optax.adam(self.rate).init(arrays)

    def value(self, state: PyTree, view: Float[Array, "time env view"]) -> Float[Array, "time env m"]:
        *hidden, (weight, bias) = state[0]
        for layer_weight, layer_bias in hidden:
            view = jnp.tanh(view @ layer_weight.T + layer_bias)
        return jax.nn.softplus(view @ weight.T + bias)

    def climb(
        self,
        state: PyTree,
        view: Float[Array, "time env view"],
        violation: Float[Array, " m"],
        to_go: Float[Array, "time env m"] | None,
    ) -> PyTree:
        """`to_go` is the cost that did follow each state, less its limit."""
        if to_go is None:
            raise ValueError("A multiplier for every state climbs on what followed each: it must be told.")

        def loss(arrays: PyTree) -> Float[Array, ""]:
            return -jnp.mean(jnp.sum(self.value((arrays,), view) * to_go, axis=-1))

        def step(state: PyTree, _: None) -> tuple[PyTree, None]:
            arrays, adam = state
            change, adam = optax.adam(self.rate).update(jax.grad(loss)(arrays), adam, arrays)
            return (optax.apply_updates(arrays, change), adam), None

        return jax.lax.scan(step, state, None, length=self.steps)[0]
