"""Normalised observations: x ↦ clip((x − mean)/std, ±10), with the mean and the deviation of all observations so far.

Sensors differ by orders of magnitude: the standard deviation of a lidar is 0.1, that of a touch sensor 200. Without
normalisation, large inputs saturate a network and hide the small ones. The statistics change only between epochs, so
that all steps of an epoch have the same units. A trained policy has those of its last epoch.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

BOUND = 10.0
"""Observations are clipped at this number of standard deviations."""
_LEAST = 1e-2
"""Added to the deviation, so that an observation that hardly changes is not amplified."""


class Units(NamedTuple):
    """The units of normalised observations."""

    mean: Float[Array, " obs"]
    std: Float[Array, " obs"]

    def __call__(self, observation: Float[Array, "*axes obs"]) -> Float[Array, "*axes obs"]:
        return jnp.clip((observation - self.mean) / self.std, -BOUND, BOUND)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Normaliser:
    """The statistics of the observations so far."""

    count: Float[Array, ""]
    mean: Float[Array, " obs"]
    variance: Float[Array, " obs"]

    @property
    def units(self) -> Units:
        """The units. Before the first observation, mean 0 and deviation 1."""
        return Units(self.mean, jnp.where(self.count > 0, jnp.sqrt(self.variance) + _LEAST, 1.0))

    def after(self, observation: Float[Array, "*axes obs"]) -> "Normaliser":
        """The statistics with more observations, which are clipped as the networks see them.

        mean = mean₁ + w·(mean₂ − mean₁)      variance = (1 − w)·variance₁ + w·variance₂ + w(1 − w)·(mean₂ − mean₁)²

        w is the share of the new observations.
        """
        rows = observation.reshape(-1, observation.shape[-1])
        far = BOUND * self.units.std
        rows = jnp.where(self.count > 0, jnp.clip(rows, self.mean - far, self.mean + far), rows)
        w = len(rows) / (self.count + len(rows))
        shift = jnp.mean(rows, axis=0) - self.mean
        variance = (1 - w) * self.variance + w * jnp.var(rows, axis=0) + w * (1 - w) * shift**2
        return Normaliser(self.count + len(rows), self.mean + w * shift, variance)


def no_observations(size: int) -> Normaliser:
    return Normaliser(jnp.zeros(()), jnp.zeros(size), jnp.zeros(size))
