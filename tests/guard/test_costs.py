"""Costs: max(0, R − D) for regions, 0 or 1 for pillars."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from ascpo.guard.costs import clearance, contact_cost, margin, region_cost
from ascpo.guard.kinds import GHOST, GHOST3D, HAZARD, HAZARD3D, PILLAR
from ascpo.guard.robots import ROBOTS

from .helpers import turned

POINT, DRONE, ARM3 = ROBOTS["Point"], ROBOTS["Drone"], ROBOTS["Arm3"]
# Shoulder (twice), elbow (twice) and hand: the upper arm stands upright, the forearm points along y.
ARM_AT_REST = np.array([(0, 0, 0.3), (0, 0, 0.3), (0, 0, 1.8), (0, 0, 1.8), (0, 1, 1.8)])

# A point, how far it is from the arm's surface, and from which part.
AROUND_THE_ARM = [
    ((0.5, 0, 1.0), 0.5 - 0.15),  # upper arm, from the side
    ((0, 0, 1.0), -0.15),  # on the upper arm's axis
    ((0, 0.5, 1.4), 0.4 - 0.10),  # forearm, from below
    ((0, 1.3, 1.8), 0.3 - 0.10),  # beyond the hand: the forearm's end, for the hand's ball does not count
    ((0.3, 0, 0.2), np.sqrt(0.1) - 0.20),  # base
    ((0, -0.3, 1.9), np.sqrt(0.1) - 0.20),  # elbow
]


def arm_clearance(points, frames=ARM_AT_REST) -> np.ndarray:
    frames, points = (jnp.asarray(v, jnp.float32) for v in (frames, points))
    return np.asarray(clearance(ARM3, frames, points, spatial=True))


def cost(kind, robot, place, *centres, overlap="closest") -> float:
    """The cost of regions at these centres, for a robot whose one frame is at a place; for the arm, at rest."""
    frames = ARM_AT_REST if robot is ARM3 else np.array([place])
    return float(region_cost(kind, robot, *(jnp.asarray(v, jnp.float32) for v in (frames, centres)), overlap))


@pytest.mark.parametrize("kind", [HAZARD, GHOST])
@pytest.mark.parametrize(("d", "c"), [(0.0, 0.3), (0.1, 0.2), (0.25, 0.05), (0.3, 0.0), (2.0, 0.0)])
def test_on_the_ground_the_cost_is_the_depth_in_the_plane(kind, d, c):
    x, y = 0.6 * d, 0.8 * d
    assert cost(kind, POINT, (1.0, 1.0, 0.1), (1 + x, 1 + y, 0.02)) == pytest.approx(c, abs=1e-6)


@pytest.mark.parametrize("kind", [HAZARD3D, GHOST3D])
@pytest.mark.parametrize(("d", "c"), [(0.0, 0.3), (0.1, 0.2), (0.3, 0.0), (1.0, 0.0)])
def test_in_the_air_the_cost_is_the_depth_in_space(kind, d, c):
    x, y, z = d * np.array([2, 3, 6]) / 7
    assert cost(kind, DRONE, (0.5, 0.5, 1.0), (0.5 + x, 0.5 + y, 1 + z)) == pytest.approx(c, abs=1e-6)


@pytest.mark.parametrize("overlap", ["closest", "sum"])
def test_a_far_region_costs_nothing(overlap):
    near, far = (0.1, 0.0, 0.02), (1.0, 1.0, 0.02)
    assert cost(HAZARD, POINT, (0, 0, 0.1), far, near, far, overlap=overlap) == pytest.approx(0.2, abs=1e-6)
    assert cost(HAZARD, POINT, (0, 0, 0.1), far, far, overlap=overlap) == 0


@pytest.mark.parametrize(("overlap", "c"), [("closest", 0.2), ("sum", 0.25)])
def test_two_regions_at_once_cost_the_deepest_or_both(overlap, c):
    both = (0.1, 0.0, 0.02), (0.0, -0.25, 0.02)
    assert cost(HAZARD, POINT, (0, 0, 0.1), *both, overlap=overlap) == pytest.approx(c, abs=1e-6)


def test_the_clearance_of_the_arm_is_the_distance_of_its_nearest_part():
    points, distances = zip(*AROUND_THE_ARM, strict=True)
    assert_allclose(arm_clearance(points), distances, atol=1e-6)


def test_the_clearance_of_the_arm_turns_with_it():
    points, distances = zip(*AROUND_THE_ARM, strict=True)
    R = turned(2.0)
    assert_allclose(arm_clearance(points @ R.T, ARM_AT_REST @ R.T), distances, atol=1e-6)


@pytest.mark.parametrize(("overlap", "c"), [("closest", 0.45), ("sum", 0.45 + 0.1)])
def test_the_cost_of_the_arm_is_measured_at_its_surface_in_all_regions(overlap, c):
    inside, beyond_the_hand, away = (0, 0, 1.0), (0, 1.3, 1.8), (1.5, 1.5, 1.0)
    assert cost(HAZARD3D, ARM3, None, inside, beyond_the_hand, away, overlap=overlap) == pytest.approx(c, abs=1e-6)


@pytest.mark.parametrize(("contacts", "c"), [([0, 0], 0.0), ([1, 0], 1.0), ([0, 2], 1.0), ([3, 1], 1.0)])
def test_touching_pillars_costs_one_however_many_points_touch(contacts, c):
    assert contact_cost(jnp.array(contacts, jnp.float32)) == c


@pytest.mark.parametrize("kind", [HAZARD, GHOST, PILLAR])
@pytest.mark.parametrize("d", [0.0, 0.1, 0.3, 0.5, 2.0])
def test_a_margin_on_the_ground_is_the_depth_in_the_nearest_region_and_negative_outside(kind, d):
    far, near = (9.0, 9.0, 0.02), (1 + 0.6 * d, 1 + 0.8 * d, 0.02)
    frames, centres = jnp.array([(1.0, 1.0, 0.1)]), jnp.array([far, near])
    # The point robot's shape counts as its centre for regions and pillars alike.
    expected = kind.radius - float(clearance(POINT, frames, centres, spatial=False)[1])
    assert float(margin(kind, POINT, frames, centres)) == pytest.approx(expected, abs=1e-6)
    assert expected == pytest.approx(kind.radius - d + sum(part.radius for part in POINT.parts), abs=1e-6)


@pytest.mark.parametrize("d", [0.0, 0.1, 0.3, 1.0])
def test_inside_a_region_the_margin_equals_the_cost(d):
    frames, centres = jnp.array([(0.5, 0.5, 1.0)]), jnp.array([(0.5, 0.5 + d, 1.0)])
    found = float(margin(HAZARD3D, DRONE, frames, centres))
    assert max(found, 0.0) == pytest.approx(cost(HAZARD3D, DRONE, (0.5, 0.5, 1.0), (0.5, 0.5 + d, 1.0)), abs=1e-6)
    assert found == pytest.approx(0.3 - d, abs=1e-6)
