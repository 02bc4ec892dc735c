"""Normalised observations: x ↦ clip((x − mean)/std, ±10), with the mean and the deviation of all observations so far.

Sensors differ by orders of magnitude: a lidar's readings have a deviation of 0.1, a touch sensor's of 200. Networks
that saturate in the one cannot see the other. The statistics change between epochs alone, so that all of an epoch's
steps are seen in the same units, and a trained policy has those of its last epoch.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_BOUND = 10.0
"""Deviations beyond which an observation is no farther."""
_LEAST = 1e-2
"""The least deviation: what hardly ever changes is not made large."""


class Units(NamedTuple):
    """The units that observations are seen in."""

    mean: Float[Array, " obs"]
    std: Float[Array, " obs"]

    def __call__(self, observation: Float[Array, "*axes obs"]) -> Float[Array, "*axes obs"]:
        return jnp.clip((observation - self.mean) / self.std, -_BOUND, _BOUND)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Normaliser:
    """The statistics of the observations so far."""

    count: Float[Array, ""]
    mean: Float[Array, " obs"]
    variance: Float[Array, " obs"]

    @property
    def units(self) -> Units:
        """Before the first observation, they stay as they are."""
        return Units(self.mean, jnp.where(self.count > 0, jnp.sqrt(self.variance) + _LEAST, 1.0))

    def after(self, observation: Float[Array, "*axes obs"]) -> "Normaliser":
        """With more observations. Outliers count as far as they are seen.

        mean = mean₁ + w·(mean₂ − mean₁)      variance = (1 − w)·variance₁ + w·variance₂ + w(1 − w)·(mean₂ − mean₁)²

        where w is the share of the new ones.
        """
        rows = observation.reshape(-1, observation.shape[-1])
        far = _BOUND * self.units.std
        rows = jnp.where(self.count > 0, jnp.clip(rows, self.mean - far, self.mean + far), rows)
        w = len(rows) / (self.count + len(rows))
        shift = jnp.mean(rows, axis=0) - self.mean
        variance = (1 - w) * self.variance + w * jnp.var(rows, axis=0) + w * (1 - w) * shift**2
        return Normaliser(self.count + len(rows), self.mean + w * shift, variance)


def no_observations(size: int) -> Normaliser:
    return Normaliser(jnp.zeros(()), jnp.zeros(size), jnp.zeros(size))
