"""Robots: their bodies and movements. Reference values are those of a single robot from the origin with heading 0."""

from functools import cache
from typing import NamedTuple

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

from ascpo.guard.model import make_model
from ascpo.guard.robots import ROBOTS

from .helpers import drive

NAMES = tuple(ROBOTS)
INTEGRATORS = {"Euler": mujoco.mjtIntegrator.mjINT_EULER, "RK4": mujoco.mjtIntegrator.mjINT_RK4}
nan = float("nan")


class Body(NamedTuple):
    mass: float
    nq: int
    nv: int
    bodies: int
    geoms: int
    actions: int
    height: float


BODIES = {
    "Point": Body(0.00518879, 3, 3, 1, 2, 2, 0.10),
    "Swimmer": Body(0.666018, 5, 5, 3, 3, 2, 0.03),
    "Arm3": Body(0.00236928, 3, 3, 6, 5, 3, 0.0),
    "Drone": Body(0.0105222, 6, 6, 5, 7, 4, 1.0),
    "Humanoid": Body(42.11603, 20, 20, 13, 17, 8, 1.28),
    "Ant": Body(0.0136431, 15, 14, 13, 13, 8, 0.75),
    "Walker": Body(1.557183, 13, 13, 7, 7, 10, 0.43),
}

# timestep, integrator, gravity, floor friction
PHYSICS = {
    "Point": (0.002, "Euler", -9.81, (1, 0.005, 0.0001)),
    "Swimmer": (0.02, "Euler", -9.81, (0.75, 0.01, 0.01)),
    "Arm3": (0.002, "Euler", 0.0, (1, 0.005, 0.0001)),
    "Drone": (0.008, "Euler", -9.81, (1, 0.005, 0.0001)),
    "Humanoid": (0.003, "RK4", -9.81, (1, 0.005, 0.0001)),
    "Ant": (0.02, "Euler", -9.81, (0.75, 0.01, 0.01)),
    "Walker": (0.005, "Euler", -9.81, (0.7, 0.1, 0.1)),
}

# (robot, action): {step: (x, y, z, yaw)}, NaN where no value is known.
PLACES = {
    ("Point", "A"): {
        1: (0.00063, 0, 0.1, nan),
        10: (0.05144, 0, 0.1, nan),
        50: (0.83539, 0, 0.1, nan),
        100: (2.23829, 0, 0.1, nan),
    },
    ("Point", "B"): {
        1: (0.00002, -0.00082, 0.1, 0.04338),
        10: (0.04176, 0.00439, 0.1, 0.27128),
        50: (0.11150, 0.08970, 0.1, 0.30478),
    },
    ("Arm3", "A"): {
        1: (-0.01178, 0.98164, 1.82389, nan),
        10: (-0.09478, 0.78608, 2.02692, nan),
        50: (0.27363, -0.39996, 2.47004, nan),
        100: (1.99032, -0.77380, 1.51900, nan),
    },
    ("Arm3", "B"): {
        1: (0, 0.98463, 1.82093, nan),
        10: (-0.07134, 0.91096, 1.83797, nan),
        50: (-0.05919, 0.89617, 1.86852, nan),
        100: (-0.03987, 1.00879, 1.74510, nan),
    },
    ("Drone", "A"): {
        1: (nan, nan, 1.08033, nan),
        10: (nan, nan, 2.49478, nan),
        50: (nan, nan, 7.43552, nan),
        100: (nan, nan, 13.37105, nan),
    },
    ("Drone", "B"): {
        1: (nan, nan, 1.03799, nan),
        10: (0.00248, -0.00609, 1.18546, nan),
        50: (0.00063, -0.01284, 1.27834, nan),
        100: (0.00457, -0.01218, 0.82041, nan),
    },
    # Robots that touch the floor agree for the first steps only.
    ("Swimmer", "A"): {1: (0.00880, 0.07006, nan, nan), 10: (0.17374, 0.19454, nan, nan)},
    ("Swimmer", "B"): {1: (-0.00334, -0.02010, nan, 0.05842), 10: (0.14578, 0.21327, nan, -1.55992)},
    ("Humanoid", "A"): {1: (-0.01231, 0, nan, nan), 10: (-0.01751, 0, nan, nan)},
    ("Humanoid", "B"): {1: (-0.00592, -0.00019, nan, nan), 10: (-0.05254, -0.01037, nan, nan)},
    ("Ant", "A"): {1: (0.00156, 0.00092, 0.55142, nan), 10: (-0.00984, -0.00069, 0.14523, nan)},
    ("Ant", "B"): {1: (0.00640, 0.00170, 0.55473, nan), 10: (-0.06754, -0.07446, 0.15507, nan)},
    ("Walker", "A"): {1: (0.07304, 0, nan, nan), 10: (0.30550, 0, nan, nan)},
    ("Walker", "B"): {1: (0.05596, -0.01277, nan, -0.05719), 10: (0.03912, -0.06575, nan, 0.39774)},
}

# acc, vel and gyro after one step of action B
SENSORS = {
    "Point": (0.126, -1.5294, 9.81, -0.0002, -0.0476, 0, 0, 0, 2.5524),
    "Drone": (-0.1526, 0.1175, 14.1743, -0.0077, 0.0059, 0.7162, 0.105, 0.1364, 0.0011),
    "Humanoid": (-26.1101, -0.2158, 9.81, -0.4732, -0.0096, 0, 0, 0, 0.0014),
    "Ant": (-0.8683, -2.2003, -0.1361, -0.0166, 0.0535, -1.9624, 0.5069, 0.2926, 0.0233),
    "Walker": (8.0174, -0.5885, 9.81, 1.5262, -0.2502, 0, 0, 0, -1.089),
}

ACCELERATION_AT_RESET = {
    "Point": (0, 0, 9.81),
    "Swimmer": (0, 0, 9.81),
    "Arm3": (0, 0, 0),
    "Drone": (0, 0, 0),
    "Humanoid": (-4.5099, 0, 9.81),
    "Ant": (0, 0, 7.1652),
    "Walker": (0.1496, 0, 9.81),
}


def model_of(robot: str) -> mujoco.MjModel:
    return make_model("Drone-8-3DHazard" if robot == "Drone" else f"{robot}-8-Hazard")


def action_a(robot: str):
    """All ones; the point only drives forward."""
    return lambda t: (1, 0) if robot == "Point" else np.ones(BODIES[robot].actions)


def action_b(robot: str):
    """uᵢ(t) = sin(0.3 t + i)."""
    return lambda t: np.sin(0.3 * t + np.arange(BODIES[robot].actions))


@cache
def places(robot: str, action: str) -> np.ndarray:
    """Position of the tracked frame and yaw of the root after each of a hundred steps."""
    model = model_of(robot)
    if robot == "Swimmer":
        # The check values are of a floor and links with a margin of 0.01 each; our own Swimmer has less.
        model.geom_margin[:] = 0.01
    actions = {"A": action_a, "B": action_b}[action](robot)
    tracked = ROBOTS[robot].tracked
    rows = [(*data.body(tracked).xpos, yaw(data)) for data in drive(model, actions, 100)]
    return np.array(rows)


def yaw(data: mujoco.MjData) -> float:
    x_axis = data.body("robot").xmat.reshape(3, 3)[:, 0]
    return np.arctan2(x_axis[1], x_axis[0])


def last(model: mujoco.MjModel, action, steps: int) -> mujoco.MjData:
    *_, data = drive(model, action, steps)
    return data


@pytest.mark.parametrize("robot", NAMES)
def test_a_robot_has_the_documented_mass_joints_bodies_and_actions(robot):
    model, body = model_of(robot), BODIES[robot]
    assert model.body_mass.sum() == pytest.approx(body.mass, rel=5e-6)
    assert (model.nq, model.nv) == (body.nq, body.nv)
    assert model.nbody - 1 == body.bodies
    touchable = (model.geom_contype != 0) & (model.geom_bodyid > 0)
    assert touchable.sum() == body.geoms
    assert model.body("robot").pos == pytest.approx([0, 0, body.height])
    assert ROBOTS[robot].actions == body.actions == (model.nu or len(ROBOTS[robot].rotors))


@pytest.mark.parametrize("robot", NAMES)
def test_a_robot_has_its_own_time_step_and_floor(robot):
    model = model_of(robot)
    timestep, integrator, gravity, friction = PHYSICS[robot]
    assert model.opt.timestep == timestep
    assert model.opt.integrator == INTEGRATORS[integrator]
    assert_allclose(model.opt.gravity, (0, 0, gravity))
    assert_allclose(model.geom("floor").friction, friction)
    assert set(model.geom_condim) == {6}


@pytest.mark.parametrize("robot", [name for name in NAMES if name != "Drone"])
def test_motors_clip_their_controls_to_one(robot):
    model = model_of(robot)
    assert_allclose(model.actuator_ctrlrange, np.tile((-1.0, 1.0), (model.nu, 1)))
    assert model.actuator_ctrllimited.all()


@pytest.mark.parametrize(("robot", "action", "step"), [(*key, step) for key, known in PLACES.items() for step in known])
def test_a_robot_moves_to_the_reference_positions(robot, action, step):
    expected = np.array(PLACES[robot, action][step])
    known = np.isfinite(expected)
    assert_allclose(places(robot, action)[step - 1][known], expected[known], atol=6e-6)


def test_the_point_ends_close_to_its_last_reference_position():
    # After a hundred steps its yaw turns at 2 rad/s, and differs in the third decimal.
    assert_allclose(places("Point", "B")[99], (0.18942, 0.24794, 0.1, -0.04853), atol=3e-3)


@pytest.mark.parametrize("robot", SENSORS)
def test_sensors_after_one_step_have_the_reference_values(robot):
    assert_allclose(last(model_of(robot), action_b(robot), 1).sensordata[:9], SENSORS[robot], atol=6e-5)


@pytest.mark.parametrize("robot", NAMES)
def test_the_accelerometer_has_the_reference_value_at_reset(robot):
    model = model_of(robot)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert_allclose(data.sensordata[:3], ACCELERATION_AT_RESET[robot], atol=6e-5)


@pytest.mark.parametrize(
    ("steps", "joints"),
    [(10, (0.0249, -0.0062, 0.1825, 0.0594, 0.2397, 0)), (50, (0.6336, -0.1089, 0.3262, 0.2339, 1.1997, 0.0011))],
)
def test_an_unbalanced_drone_tilts_and_drifts(steps, joints):
    assert_allclose(last(model_of("Drone"), lambda t: (-1, 0.5, 1, 0), steps).qpos, joints, atol=6e-5)


def test_a_drone_with_idle_rotors_hovers():
    assert_allclose(last(model_of("Drone"), lambda t: np.zeros(4), 20).qpos, 0, atol=1e-9)


@pytest.mark.parametrize(("height", "per_rotor"), [(3.0, 0.0105222 * 9.81 / 4 + 0.05), (3.001, 0.05)])
def test_above_three_metres_the_rotors_no_longer_carry_the_weight(height, per_rotor):
    model = model_of("Drone")
    data = mujoco.MjData(model)
    data.joint("z").qpos = height - 1
    next(drive(model, lambda t: np.full(4, 0.5), 1, data))
    forces = data.xfrc_applied[[model.body(name).id for name in ROBOTS["Drone"].rotors]]
    assert_allclose(forces, np.tile((0, 0, per_rotor, 0, 0, 0), (4, 1)), atol=1e-7)


def test_rotors_give_no_more_than_their_full_thrust():
    model = model_of("Drone")
    assert_allclose(last(model, lambda t: np.full(4, 7.0), 5).qpos, last(model, lambda t: np.ones(4), 5).qpos)


def test_the_point_has_a_top_speed_and_a_top_rate_of_turn():
    model = model_of("Point")
    assert last(model, lambda t: (1, 0), 500).qvel[0] == pytest.approx(1.50, abs=0.005)
    assert last(model, lambda t: (0, 1), 500).qvel[2] == pytest.approx(3.0, abs=0.005)


def test_the_points_forward_push_saturates_at_a_twentieth_of_the_action():
    model = model_of("Point")
    assert_allclose(last(model, lambda t: (0.05, 0), 20).qpos, last(model, lambda t: (1, 0), 20).qpos)
    assert last(model, lambda t: (0.04, 0), 20).qpos[0] < 0.9 * last(model, lambda t: (1, 0), 20).qpos[0]


def test_switching_its_contacts_off_changes_no_step_of_the_point():
    without, together = model_of("Point"), model_of("Point")
    together.opt.disableflags = 0
    steps = [drive(model, action_b("Point"), 100) for model in (without, together)]
    for data, touching in zip(*steps, strict=True):
        assert data.ncon == 0
        assert touching.ncon > 0
        assert (data.qpos == touching.qpos).all()


def test_a_swimmer_always_has_its_six_contacts_with_the_floor():
    rng = np.random.default_rng(0)
    model = model_of("Swimmer")
    floor = model.geom("floor").id
    counts = {
        int((data.contact.geom == floor).any(axis=1).sum())
        for data in drive(model, lambda t: rng.uniform(-1, 1, size=2), 50)
    }
    assert counts == {6}


def test_the_arms_joints_turn_at_six_tenths_of_the_action_at_once():
    u = np.array([1.0, -0.5, 0.25])
    assert_allclose(last(model_of("Arm3"), lambda t: u, 5).qpos, 5 * 0.02 * 0.6 * u, rtol=1e-4)
