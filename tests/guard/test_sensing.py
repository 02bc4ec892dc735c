"""Compass and pseudo-lidars, against printed examples and against the formulas written as plain loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from ascpo.guard import sensing

from .helpers import steady

ORIGIN, UPRIGHT = np.zeros(3), np.eye(3)
lidar, lidar3d = jax.jit(sensing.lidar), jax.jit(sensing.lidar3d)
compass = jax.jit(sensing.compass, static_argnums=3)

coordinates = st.floats(-3, 3, width=32)
places = arrays(np.float32, 3, elements=coordinates)
scenes = st.integers(1, 4).flatmap(lambda n: arrays(np.float32, (n, 3), elements=coordinates))
attitudes = st.integers(0, 2**32 - 1).map(lambda seed: Rotation.random(random_state=seed).as_matrix())


def seen(sensor, objects, b=ORIGIN, R=UPRIGHT) -> np.ndarray:
    return np.asarray(sensor(*(jnp.asarray(v, jnp.float32) for v in (objects, b, R))))


def cells(bins: dict[tuple[int, int], float]) -> np.ndarray:
    """The 60 values of a 3D lidar that sees only these (azimuth, elevation) bins."""
    image = np.zeros((10, 6))
    for cell, value in bins.items():
        image[cell] = value
    return image.ravel()


def compass_by_hand(goal, b, R, components):
    u = (R.T @ (goal - b))[:components]
    return u / (np.linalg.norm(u) + 0.001)


def lidar_by_hand(objects, b, R):
    bins, width = np.zeros(16), 2 * np.pi / 16
    for p in objects:
        e = (R.T @ (np.array([p[0], p[1], 0.0]) - b))[:2]
        phi = np.arctan2(e[1], e[0]) % (2 * np.pi)
        k = int(phi // width)
        f, s = phi / width - k, np.exp(-np.linalg.norm(e))
        for sector, share in ((k, 1.0), (k + 1, f), (k - 1, 1 - f)):
            bins[sector % 16] = max(bins[sector % 16], share * s)
    return bins


def lidar3d_by_hand(objects, b, R):
    """The image, and how near any object is to a border between bins, where neighbours jump."""
    image, nearest_border = np.zeros((10, 6)), 1.0
    for p in objects:
        e = R.T @ (p - b)
        phi = np.arctan2(e[1], e[0]) % (2 * np.pi)
        k = int(phi // (2 * np.pi / 10))
        f = phi / (2 * np.pi / 10) - k
        psi = np.arctan2(e[2], np.hypot(e[0], e[1])) + np.pi / 2
        m = min(int(psi // (np.pi / 6)), 5)
        h, s = psi / (np.pi / 6) - m, np.exp(-np.linalg.norm(e))
        shares = {(k, m): 1.0, (k + 1, m): f, (k - 1, m): 1 - f}
        shares |= {(k, m + 1): h} if m < 5 else {}
        shares |= {(k, m - 1): 1 - h} if m > 0 else {}
        for (azimuth, elevation), share in shares.items():
            image[azimuth % 10, elevation] = max(image[azimuth % 10, elevation], share * s)
        nearest_border = min(nearest_border, f, 1 - f, h, 1 - h)
    return image.ravel(), nearest_border


def assume_no_object_is_on_the_axis(objects, b, R):
    """On the body's axis an object has no azimuth."""
    assume(np.hypot(*((objects - b) @ R)[:, :2].T).min() > 0.05)


def test_a_goal_on_the_ground_shows_in_a_compass_of_two_values():
    u = seen(lambda *scene: compass(*scene, 2), (-1.2, 0.3, 0.26), b=(0, 0, 0.1))
    assert_allclose(u, (-0.96936, 0.24234), atol=5e-6)


def test_a_goal_in_the_air_shows_in_a_compass_of_three_values():
    u = seen(lambda *scene: compass(*scene, 3), (-1.2, 0.3, 0.7), b=(0, 0, 1))
    assert_allclose(u, (-0.94207, 0.23552, -0.23552), atol=5e-6)


@pytest.mark.parametrize("components", [2, 3])
@steady
@given(goal=places, b=places, R=attitudes)
def test_the_compass_points_to_the_goal_in_the_bodys_frame(components, goal, b, R):
    assume_no_object_is_on_the_axis(goal[None], b, R)
    u = seen(lambda *scene: compass(*scene, components), goal, b, R)
    assert_allclose(u, compass_by_hand(goal, b, R, components), atol=1e-4)
    assert np.linalg.norm(u) < 1


def test_an_object_shows_in_its_sector_and_in_both_neighbours():
    expected = np.zeros(16)
    expected[:3] = 0.26786, 0.32692, 0.05906
    assert_allclose(seen(lidar, [[1.0, 0.5, 0.02]]), expected, atol=5e-6)


def test_an_object_in_the_air_shows_in_its_cell_and_in_four_neighbours():
    image = seen(lidar3d, [[1.0, 0.5, 1.4]], b=(0, 0, 1))
    expected = cells({(0, 2): 0.10486, (0, 3): 0.30500, (0, 4): 0.20014, (1, 3): 0.22507, (9, 3): 0.07994})
    assert_allclose(image, expected, atol=5e-6)


@steady
@given(objects=scenes, b=places, R=attitudes)
def test_the_lidar_follows_its_formula(objects, b, R):
    assume_no_object_is_on_the_axis(objects * (1, 1, 0), b, R)
    assert_allclose(seen(lidar, objects, b, R), lidar_by_hand(objects, b, R), atol=1e-4)


@steady
@given(objects=scenes, b=places, R=attitudes)
def test_the_3d_lidar_follows_its_formula(objects, b, R):
    assume_no_object_is_on_the_axis(objects, b, R)
    expected, nearest_border = lidar3d_by_hand(objects, b, R)
    assume(nearest_border > 1e-3)
    assert_allclose(seen(lidar3d, objects, b, R), expected, atol=1e-4)


@pytest.mark.parametrize("sensor", [lidar, lidar3d])
@steady
@given(objects=scenes, b=places, R=attitudes)
def test_every_bin_is_between_zero_and_one(sensor, objects, b, R):
    image = seen(sensor, objects, b, R)
    assert (image >= 0).all()
    assert (image <= 1).all()
    assert image.max() > 0


def test_each_bin_shows_the_nearest_of_its_objects():
    near, far = [1.0, 0.1, 0.0], [2.0, 0.2, 0.0]
    assert_allclose(seen(lidar, [far, near]), seen(lidar, [near]), atol=1e-6)
    assert_allclose(seen(lidar3d, [far, near]), seen(lidar3d, [near]), atol=1e-6)


def test_objects_in_distant_sectors_do_not_affect_each_other():
    ahead, behind = [1.0, 0.1, 0.0], [-1.0, 0.1, 0.0]
    assert_allclose(seen(lidar, [ahead, behind]), seen(lidar, [ahead]) + seen(lidar, [behind]), atol=1e-6)


def test_the_height_of_an_object_does_not_matter_to_an_upright_lidar_on_the_ground():
    assert_allclose(seen(lidar, [[1.0, 0.5, 1.3]]), seen(lidar, [[1.0, 0.5, 0.0]]), atol=0)


def test_a_tilted_lidar_reads_differently():
    # A pitch of 60 degrees halves the distance that a lidar on the floor sees to an object ahead.
    tilted = Rotation.from_euler("y", 60, degrees=True).as_matrix()
    ahead = [[1.0, 0.0, 0.0]]
    assert seen(lidar, ahead)[0] == pytest.approx(np.exp(-1.0), rel=1e-5)
    assert seen(lidar, ahead, R=tilted)[0] == pytest.approx(np.exp(-0.5), rel=1e-5)


def test_a_turn_by_one_sector_shifts_the_readings_by_one_bin():
    for sensor, angle, bins in ((lidar, 2 * np.pi / 16, 1), (lidar3d, 2 * np.pi / 10, 6)):
        turned = Rotation.from_euler("z", -angle).as_matrix()
        objects = [[1.0, 0.5, 0.3], [-1.0, 0.2, 0.1]]
        assert_allclose(seen(sensor, objects, R=turned), np.roll(seen(sensor, objects), bins), atol=1e-5)


@pytest.mark.parametrize(("height", "elevation"), [(1.0, 5), (-1.0, 0)])
def test_an_object_straight_above_or_below_shows_at_the_pole_only(height, elevation):
    image = seen(lidar3d, [[0.0, 0.0, height]]).reshape(10, 6)
    s = np.exp(-1.0)
    assert image[0, elevation] == pytest.approx(s, rel=1e-5)
    # f = 0, so the neighbour before it sees all; the next elevation sees nothing.
    assert image[9, elevation] == pytest.approx(s, rel=1e-5)
    assert image.sum() == pytest.approx(2 * s, rel=1e-5)


def test_an_object_at_the_lidar_itself_shows_fully_and_raises_no_error():
    for sensor in (lidar, lidar3d):
        image = seen(sensor, [[0.0, 0.0, 0.0]])
        assert np.isfinite(image).all()
        assert image.max() == 1.0
