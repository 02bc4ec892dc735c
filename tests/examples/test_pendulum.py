"""The example of the documentation: its physics, its costs, and that it can be trained on."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from ascpo.engines.gymnasium.inspection import inspect
from examples.pendulum import GRAVITY, MAX_ANGLE, MAX_TORQUE, MOTOR, Pendulum, make


def pendulum(angle=0.0, target=0.0):
    env = Pendulum()
    env.reset(seed=0)
    env.angle, env.target = angle, target
    return env


def after(env, torque, steps):
    for _ in range(steps):
        _, reward, _, _, info = env.step(np.array([torque]))
    return reward, info


@pytest.mark.filterwarnings("ignore:.*Box")  # The checker would rather have other bounds.
def test_gymnasiums_checker_and_ours_find_nothing():
    check_env(make().unwrapped, skip_render_check=True)
    found = inspect(make)
    assert (found.observation_size, found.action_size, found.notes) == (4, 1, ())
    assert found.cost_names == ("angle", "torque")


def test_an_upright_pendulum_stands_and_a_leaning_one_falls():
    standing, leaning = pendulum(), pendulum(angle=0.1)
    after(standing, 0.0, 100)
    after(leaning, 0.0, 100)
    assert standing.angle == 0.0
    assert leaning.angle == 1.5, "the stop"


def test_the_torque_that_carries_the_weight_holds_it():
    env = pendulum(angle=0.4)
    env.torque = -GRAVITY * np.sin(0.4)
    after(env, env.torque, 20)
    assert env.angle == pytest.approx(0.4)


def test_the_best_place_is_the_target():
    assert after(pendulum(), 0.0, 1)[0] > after(pendulum(target=0.3), 0.0, 1)[0]


def test_within_the_limits_costs_are_zero():
    _, info = after(pendulum(), 0.5 * MAX_TORQUE, 1)
    np.testing.assert_array_equal(info["costs"], 0.0)
    assert info["cost"] == 0.0


def test_beyond_a_limit_the_cost_is_the_distance_to_it():
    env = pendulum(angle=MAX_ANGLE + 0.2)
    _, info = after(env, MOTOR, 20)
    np.testing.assert_allclose(info["costs"], [abs(env.angle) - MAX_ANGLE, MOTOR - MAX_TORQUE], rtol=1e-4)
    assert info["cost"] == info["costs"].sum()


def test_the_strongest_motor_can_hold_any_target_within_the_limits():
    assert GRAVITY * np.sin(MAX_ANGLE) < MAX_TORQUE < MOTOR


def test_episodes_end_after_a_hundred_steps():
    env = make()
    env.reset(seed=1)
    ends = [env.step(np.zeros(1))[3] for _ in range(100)]
    assert ends == [False] * 99 + [True]
