"""Ghosts, against a printed example and against their law written as plain loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from ascpo.guard import ghosts
from ascpo.guard.kinds import GHOST, GHOST3D
from tests.slow import always, slow

SUBSTEP = 1e-4
drift = jax.jit(ghosts.drift, static_argnums=2)
drift_many = jax.jit(jax.vmap(ghosts.drift, in_axes=(0, 0, None)), static_argnums=2)


def after(substeps, *start, robot=(0.0, 0.0, 0.0), kind=GHOST) -> np.ndarray:
    """Where ghosts are after so many substeps of a robot that stands still."""
    path = jnp.tile(jnp.array(robot, jnp.float32), (substeps, 1))
    return np.asarray(drift(jnp.array(start, jnp.float32), path, kind))


def law(g: np.ndarray, path: np.ndarray, *, spatial: bool) -> np.ndarray:
    """The ghosts after the path, by the formula."""
    axes, v, radius, leash, standoff = 3 if spatial else 2, 1e-4, 0.3, 2.5, 1.5

    def unit(a):
        return a / np.linalg.norm(a)

    for x in path:
        moved = g.copy()
        for i in range(len(g)):
            for j in range(len(g)):
                away = g[i, :axes] - g[j, :axes]
                if j != i and np.linalg.norm(away) < 2 * radius:
                    moved[i, :axes] += v * unit(away)
            to_robot = x[:axes] - g[i, :axes]
            if np.linalg.norm(g[i, :2]) > leash:
                moved[i, :2] -= v * unit(g[i, :2])
            elif np.linalg.norm(to_robot) >= standoff:
                moved[i, :axes] += v * unit(to_robot)
        if spatial:
            moved[:, 2] = np.clip(moved[:, 2], 0.5, 1.5)
        g = moved
    return g


def test_a_ghost_comes_nearer_by_a_millimetre_a_step():
    assert_allclose(after(100, (1.4, 1.4, 0.02)), [(1.39293, 1.39293, 0.02)], atol=5e-6)


def test_a_ghost_stops_at_a_metre_and_a_half():
    assert np.linalg.norm(after(6000, (1.4, 1.4, 0.02))[0, :2]) == pytest.approx(1.5, abs=2 * SUBSTEP)


def test_a_ghost_near_the_robot_stays_where_it_is():
    assert_allclose(after(100, (1.0, 1.0, 0.02)), [(1.0, 1.0, 0.02)], atol=0)


@pytest.mark.parametrize("robot", [(0.0, 0.0, 0.0), (5.0, 0.0, 0.0)])
def test_a_ghost_too_far_outside_returns_wherever_the_robot_is(robot):
    assert_allclose(after(10, (2.6, 0.0, 0.02), robot=robot), [(2.6 - 10 * SUBSTEP, 0.0, 0.02)], atol=2e-6)


def test_ghosts_nearer_than_two_radii_push_each_other_apart():
    moved = after(10, (0.0, 0.0, 0.02), (0.5, 0.0, 0.02))
    assert_allclose(moved, [(-10 * SUBSTEP, 0.0, 0.02), (0.5 + 10 * SUBSTEP, 0.0, 0.02)], atol=2e-6)


def test_ghosts_two_radii_apart_leave_each_other_alone():
    assert_allclose(after(10, (0.0, 0.0, 0.02), (0.61, 0.0, 0.02)), [(0.0, 0.0, 0.02), (0.61, 0.0, 0.02)], atol=0)


def test_a_ghost_on_the_ground_ignores_the_height_of_the_robot():
    low, high = (after(10, (2.0, 0.0, 0.02), robot=(0.0, 0.0, z)) for z in (0.0, 3.0))
    assert_allclose(low, high, atol=0)


@pytest.mark.parametrize("kind", always([GHOST, GHOST3D], GHOST3D))
def test_several_ghosts_and_a_moving_robot_follow_the_formula(kind):
    rng = np.random.default_rng(7)
    scenes, count, substeps = 200, 5, 30
    starts = rng.uniform((-2.4, -2.4, 0.5), (2.4, 2.4, 1.5), (scenes, count, 3))
    # In every scene the second ghost is close to the first.
    starts[:, 1, :2] = starts[:, 0, :2] + rng.uniform(-0.4, 0.4, (scenes, 2))
    path = rng.uniform(-2, 2, (scenes, 1, 3)) + np.linspace(0, 0.3, substeps)[:, None] * rng.normal(size=(scenes, 1, 3))
    starts, path = starts.astype(np.float32), path.astype(np.float32)

    expected = [law(g.astype(float), x.astype(float), spatial=kind.spatial) for g, x in zip(starts, path, strict=True)]
    assert_allclose(drift_many(jnp.asarray(starts), jnp.asarray(path), kind), expected, atol=1e-5)

    out = np.linalg.norm(starts[:, :, :2], axis=-1) > 2.5
    close = np.linalg.norm(starts[:, 0] - starts[:, 1], axis=-1) < 0.6
    near = np.linalg.norm(starts - path[:, :1], axis=-1) < 1.5
    assert min(out.sum(), close.sum(), near.sum(), (~near).sum()) > 20  # all cases of the law occur


@pytest.mark.parametrize(("height", "stays_at"), [(-1.0, 0.5), (3.0, 1.5)])
def test_ghosts_in_the_air_stay_at_heights_where_balls_are_placed(height, stays_at):
    moved = after(15_000, (1.0, 1.8, 1.0), robot=(0.0, 0.0, height), kind=GHOST3D)
    assert moved[0, 2] == pytest.approx(stays_at)


def test_ghosts_at_one_place_with_the_robot_give_finite_numbers():
    for kind in (GHOST, GHOST3D):
        together = after(10, (0.0, 0.0, 1.0), (0.0, 0.0, 1.0), robot=(0.0, 0.0, 1.0), kind=kind)
        assert_allclose(together, [(0.0, 0.0, 1.0), (0.0, 0.0, 1.0)], atol=0)


@slow("bits agree only in programs compiled as for users")
@pytest.mark.parametrize("kind", [GHOST, GHOST3D])
@pytest.mark.parametrize("count", [2, 3, 4, 8])
def test_other_ghosts_in_the_batch_do_not_change_a_result(kind, count):
    rng = np.random.default_rng(count)
    # A crowd in every other scene, and heights that no drawn layout has in the others.
    spread = np.where(np.arange(40) % 2, 0.5, 2.5)[:, None, None]
    starts = (rng.uniform((-1, -1, 0.5), (1, 1, 1.5), (40, count, 3)) * spread).astype(np.float32)
    path = np.tile(rng.uniform(-2, 2, (40, 1, 3)), (1, 10, 1)).astype(np.float32)
    together = drift_many(starts, path, kind)
    for width in (1, 7, 20):
        alone = [drift_many(starts[i : i + width], path[i : i + width], kind) for i in range(0, 40, width)]
        np.testing.assert_array_equal(np.concatenate(alone), together)
