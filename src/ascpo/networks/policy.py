"""The policy: a Gaussian with independent components. A network gives its mean; its deviation is the same in all
states.

a = μ(s) + σ·ε      KL(old ‖ new) = Σ log(σ₁/σ₀) + (σ₀² + (μ₀ − μ₁)²) / 2σ₁² − ½
"""

from functools import lru_cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from ascpo.networks.settings import LOG_STD_BOUNDS


class Gaussian(NamedTuple):
    """Independent normal components."""

    mean: Float[Array, "*axes act"]
    log_std: Float[Array, " act"]

    def log_prob(self, action: Float[Array, "*axes act"]) -> Float[Array, "*axes"]:
        z = (action - self.mean) * jnp.exp(-self.log_std)
        return -0.5 * jnp.sum(z**2, axis=-1) - jnp.sum(self.log_std) - 0.5 * np.log(2 * np.pi) * action.shape[-1]

    def divergence(self, new: "Gaussian") -> Float[Array, "*axes"]:
        """KL(self ‖ new)."""
        spread = jnp.exp(2 * (self.log_std - new.log_std))
        shift = ((self.mean - new.mean) * jnp.exp(-new.log_std)) ** 2
        return jnp.sum(0.5 * (spread + shift - 1.0) + new.log_std - self.log_std, axis=-1)

    def metric(self, tangent: "Gaussian") -> "Gaussian":
        """The Hessian of the mean divergence from here, applied to a change of mean and log_std."""
        samples = self.mean.size // self.mean.shape[-1]
        return Gaussian(tangent.mean * jnp.exp(-2 * self.log_std) / samples, 2.0 * tangent.log_std)


class Policy(eqx.Module):
    """A Gaussian policy with a state-independent standard deviation."""

    mean: eqx.nn.MLP
    log_std: Float[Array, " act"]

    def __init__(
        self,
        observation_size: int,
        act: int,
        hidden: tuple[int, ...] = (64, 64),
        *,
        initial_log_std: float = -0.5,
        key: Key[Array, ""],
    ) -> None:
        self.mean = mlp(observation_size, act, hidden, key=key)
        self.log_std = jnp.full(act, initial_log_std, jnp.float32)

    def __call__(self, observation: Float[Array, "*axes obs"]) -> Gaussian:
        return Gaussian(over_axes(self.mean, observation), jnp.clip(self.log_std, *LOG_STD_BOUNDS))

    def act(self, observation: Float[Array, " obs"], noise: Float[Array, " act"]) -> Float[Array, " act"]:
        mean, log_std = self(observation)
        return mean + jnp.exp(log_std) * noise


def mlp(inputs: int, outputs: int, hidden: tuple[int, ...], *, key: Key[Array, ""]) -> eqx.nn.MLP:
    """Layers of tanh and a linear output; weights and biases uniform in ±1/√fan-in."""
    if len(set(hidden)) > 1:
        raise ValueError(f"hidden={hidden}: layers of different width are not possible. Use for example (64, 64).")
    width = hidden[0] if hidden else 0
    empty = _empty(inputs, outputs, width, len(hidden))
    # Drawn with NumPy: in JAX, a dozen draws are a dozen programs, which take seconds to compile.
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))

    def draw(layer: eqx.nn.Linear) -> eqx.nn.Linear:
        bound = layer.weight.shape[1] ** -0.5
        # Rounded by NumPy, too: on its way to JAX it would be a program for each shape.
        drawn = lambda empty: jnp.asarray(rng.uniform(-bound, bound, empty.shape).astype(np.float32), jnp.float32)  # noqa: E731
        return jax.tree.map(drawn, layer)

    return eqx.tree_at(lambda net: net.layers, empty, tuple(draw(layer) for layer in empty.layers))


@lru_cache
def _empty(inputs: int, outputs: int, width: int, depth: int) -> eqx.nn.MLP:
    """The network with shapes for its numbers, for which JAX traces its draws. Every agent asks several times."""
    return eqx.filter_eval_shape(eqx.nn.MLP, inputs, outputs, width, depth, activation=jnp.tanh, key=jax.random.key(0))


def over_axes(network: eqx.nn.MLP, x: Float[Array, "*axes inputs"]) -> Float[Array, "*axes outputs"]:
    """Apply the network along the last axis, with one matrix product per layer."""
    *axes, inputs = x.shape
    if not axes:
        return network(x)
    return jax.vmap(network)(x.reshape(-1, inputs)).reshape(*axes, -1)
