"""The goal: rₜ = clip(dₜ₋₁ - dₜ, -10, 10) + [dₜ ≤ 0.5]."""

import jax.numpy as jnp
import pytest

from ascpo.guard import goal


def reward(before: float, after: float) -> tuple[float, bool]:
    r, reached = goal.reward(jnp.float32(before), jnp.float32(after))
    return float(r), bool(reached)


@pytest.mark.parametrize(("spatial", "d"), [(False, 5.0), (True, 13.0)])
def test_the_distance_is_measured_in_the_plane_or_in_space(spatial, d):
    assert goal.distance(jnp.array([4.0, 6.0, 12.0]), jnp.array([1.0, 2.0, 0.0]), spatial=spatial) == d


@pytest.mark.parametrize(("before", "after"), [(2.0, 1.75), (1.75, 2.0), (1.0, 1.0)])
def test_the_reward_of_a_step_is_the_decrease_of_the_distance_to_the_goal(before, after):
    assert reward(before, after) == (before - after, False)


def test_reaching_the_goal_adds_a_reward_of_one():
    assert reward(0.75, 0.25) == (1.5, True)


def test_the_border_of_the_goal_belongs_to_it():
    assert reward(0.5, 0.5) == (1.0, True)
    assert reward(0.5, 0.5001) == (pytest.approx(-1e-4, abs=1e-6), False)


@pytest.mark.parametrize(("before", "after", "r"), [(30.0, 1.0, 10.0), (1.0, 30.0, -10.0)])
def test_a_reward_is_at_most_ten(before, after, r):
    assert reward(before, after) == (r, False)


def test_the_goal_bonus_is_added_after_the_clipping():
    assert reward(30.0, 0.25) == (11.0, True)
