"""Rotations and distances.

Sums over the three axes are written out. So the compiler fuses them into the surrounding loops, unlike reductions and
matrix products, and no matrix unit rounds them.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float


def rotation(quaternion: Float[Array, "4"]) -> Float[Array, "3 3"]:
    """The rotation matrix of a unit quaternion (w, x, y, z); its columns are the body's axes in the world."""
    w, x, y, z = quaternion
    return jnp.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def turn(angle: Float[Array, ""]) -> Float[Array, "3 3"]:
    """The rotation by `angle` about the vertical."""
    c, s = jnp.cos(angle), jnp.sin(angle)
    zero, one = jnp.zeros_like(c), jnp.ones_like(c)
    return jnp.array([[c, -s, zero], [s, c, zero], [zero, zero, one]])


def apply(R: Float[Array, "3 3"], v: Float[Array, "*many 3"]) -> Float[Array, "*many 3"]:
    """R v, for each v."""
    return R[:, 0] * v[..., 0:1] + R[:, 1] * v[..., 1:2] + R[:, 2] * v[..., 2:3]


def apply_inverse(R: Float[Array, "3 3"], v: Float[Array, "*many 3"]) -> Float[Array, "*many 3"]:
    """Rᵀ v, for each v: a vector of the world in the frame of the body."""
    return R[0] * v[..., 0:1] + R[1] * v[..., 1:2] + R[2] * v[..., 2:3]


def compose(A: Float[Array, "3 3"], B: Float[Array, "3 3"]) -> Float[Array, "3 3"]:
    """A B."""
    return A[:, 0:1] * B[0] + A[:, 1:2] * B[1] + A[:, 2:3] * B[2]


def dot(a: Float[Array, "*many d"], b: Float[Array, "*#many d"]) -> Float[Array, "*many"]:
    return sum((a[..., i] * b[..., i] for i in range(1, a.shape[-1])), start=a[..., 0] * b[..., 0])


def norm(v: Float[Array, "*many d"]) -> Float[Array, "*many"]:
    return jnp.sqrt(dot(v, v))


def distance_to_segment(
    point: Float[Array, "*many d"], start: Float[Array, " d"], end: Float[Array, " d"]
) -> Float[Array, "*many"]:
    """Distance from a point to the segment between two others, which may coincide."""
    along = end - start
    length2 = dot(along, along)
    share = dot(point - start, along) / jnp.where(length2 > 0, length2, 1.0)
    nearest = start + jnp.clip(share, 0.0, 1.0)[..., None] * along
    return norm(point - nearest)
