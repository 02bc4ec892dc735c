"""Compass and pseudo-lidars: the robot's sensors of the goal and the obstacles.

They do not cast rays, but sense the centres of objects, in the frame (position b, rotation R) of one body.
"""

import functools

import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.guard.geometry import apply_inverse, norm

BINS = 16
AZIMUTHS, ELEVATIONS = 10, 6
BINS_3D = AZIMUTHS * ELEVATIONS


def compass(
    goal: Float[Array, "3"], b: Float[Array, "3"], R: Float[Array, "3 3"], components: int
) -> Float[Array, " components"]:
    """u = Rᵀ (goal - b), cut to its first components and divided by |u| + 0.001."""
    u = apply_inverse(R, goal - b)[:components]
    return u / (norm(u) + 0.001)


def lidar(objects: Float[Array, "n 3"], b: Float[Array, "3"], R: Float[Array, "3 3"]) -> Float[Array, "16"]:
    """Sixteen sectors around the body's vertical, each with exp(-distance) of the nearest object in it.

    An object at fraction f of sector k also appears in its neighbours: f in k + 1, 1 - f in k - 1.
    """
    e = apply_inverse(R, objects * jnp.array([1.0, 1.0, 0.0]) - b)
    s = jnp.exp(-norm(e[:, :2]))
    azimuth = _azimuth(e, BINS)
    return _nearest([s[i] * _around(azimuth[i], BINS) for i in range(len(objects))], BINS)


def lidar3d(objects: Float[Array, "n 3"], b: Float[Array, "3"], R: Float[Array, "3 3"]) -> Float[Array, "60"]:
    """Ten azimuths by six elevations (straight down is 0), flattened with the elevation fastest.

    The neighbours in azimuth wrap around, those in elevation end at the poles. Diagonal neighbours get nothing.
    """
    e = apply_inverse(R, objects - b)
    s = jnp.exp(-norm(e))
    azimuth = _azimuth(e, AZIMUTHS)
    psi = jnp.arctan2(e[:, 2], norm(e[:, :2])) + jnp.pi / 2
    elevation = psi / (jnp.pi / ELEVATIONS)

    def cells(i: int) -> Float[Array, "10 6"]:
        k = jnp.minimum(jnp.floor(azimuth[i]), AZIMUTHS - 1)
        m = jnp.clip(jnp.floor(elevation[i]), 0, ELEVATIONS - 1)
        above = elevation[i] - jnp.arange(ELEVATIONS)
        beside = jnp.where(jnp.arange(ELEVATIONS) == m, _around(azimuth[i], AZIMUTHS)[:, None], 0.0)
        over_and_under = jnp.clip(jnp.minimum(2 - above, 1 + above), 0.0, 1.0)
        return s[i] * jnp.maximum(beside, jnp.where(jnp.arange(AZIMUTHS)[:, None] == k, over_and_under, 0.0))

    return _nearest([cells(i).reshape(BINS_3D) for i in range(len(objects))], BINS_3D)


def _azimuth(e: Float[Array, "n 3"], bins: int) -> Float[Array, " n"]:
    """The direction of each object, in sectors: k + f."""
    phi = jnp.arctan2(e[:, 1], e[:, 0])
    return jnp.where(phi < 0, phi + 2 * jnp.pi, phi) * (bins / (2 * jnp.pi))


def _around(azimuth: Float[Array, ""], bins: int) -> Float[Array, " bins"]:
    """The share of each sector: 1 in k, f in k + 1, 1 - f in k - 1, and 0 elsewhere.

    With δ = k + f - j, counted round from sector j, these are 1 for δ < 1, 2 - δ up to 2, and δ - bins + 1 at the end.
    """
    behind = azimuth - jnp.arange(bins)
    delta = jnp.where(behind < 0, behind + bins, behind)
    return jnp.clip(jnp.maximum(2 - delta, delta - (bins - 1)), 0.0, 1.0)


def _nearest(images: list[Float[Array, " bins"]], bins: int) -> Float[Array, " bins"]:
    """The largest value of each bin, taken sequentially, which the compiler turns into one fast loop."""
    return functools.reduce(jnp.maximum, images, jnp.zeros(bins))
