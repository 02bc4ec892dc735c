"""Critics: they predict the return, or the sum of each cost signal from a state on.

A critic of several signals has one output for each, and shares its body: the signals have the same causes, and another
output costs almost nothing.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ascpo.choices import Head
from ascpo.networks.policy import mlp, over_axes


class Critic(eqx.Module):
    """Predicts the future sum of each signal."""

    body: eqx.nn.MLP
    head: Head = eqx.field(static=True)

    def __init__(
        self,
        observation_size: int,
        outputs: int,
        hidden: tuple[int, ...] = (64, 64),
        *,
        head: Head = "linear",
        output_bias: float | None = None,
        key: Key[Array, ""],
    ) -> None:
        """`output_bias` starts all predictions near head(output_bias)."""
        body = mlp(observation_size, outputs, hidden, key=key)
        if output_bias is not None:
            body = eqx.tree_at(lambda net: net.layers[-1].bias, body, jnp.full(outputs, output_bias, jnp.float32))
        self.body = body
        self.head = head

    def __call__(self, observation: Float[Array, "*axes obs"]) -> Float[Array, "*axes k"]:
        out = over_axes(self.body, observation)
        match self.head:
            case "softplus":
                return jax.nn.softplus(out)
            case "sigmoid":
                return jax.nn.sigmoid(out)
            case "linear":
                return out
