"""Observations: their size, their order, and the content of each block."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from ascpo.environments.spaces import make_task
from ascpo.guard.model import SensorPlan
from ascpo.guard.observation import Observer
from ascpo.guard.robots import ROBOTS
from ascpo.guard.suites import PAPER_SUITES, suite

from .helpers import task_of

# paper, compact
SIZES = {
    "Point": (79, 30),
    "Swimmer": (87, 38),
    "Walker": (101, 52),
    "Ant": (103, 54),
    "Drone": (135, 83),
    "Humanoid": (115, 48),
    "Arm3": (190, 256),
}

# Where each block of the compact observations begins.
COMPACT = {
    "Point-8-Hazard": "accelerometer 0, goal_compass 3, gyro 5, hazard_lidar 8, magnetometer 24, velocimeter 27",
    "Point-4-Ghost": "accelerometer 0, ghost_lidar 3, goal_compass 19, gyro 21, magnetometer 24, velocimeter 27",
    "Point-1-Pillar": "accelerometer 0, goal_compass 3, gyro 5, magnetometer 8, pillar_lidar 11, velocimeter 27",
    "Swimmer-8-Hazard": "accelerometer 0, goal_compass 3, gyro 5, hazard_lidar 8, joint_position 24, "
    "joint_velocity 26, magnetometer 28, touch 31, velocimeter 35",
    "Drone-8-3DHazard": "accelerometer 0, goal_compass 3, gyro 6, hazard3d_lidar 9, magnetometer 69, touch 72, "
    "velocimeter 80",
    "Arm3-8-Hazard": "accelerometer 0, goal_compass 15, gyro 24, hazard3d_lidar 39, joint_position 219, "
    "joint_velocity 222, magnetometer 225, touch 240, velocimeter 241",
    "Humanoid-8-Hazard": "accelerometer 0, goal_compass 3, gyro 5, hazard_lidar 8, joint_position 24, "
    "joint_velocity 32, magnetometer 40, touch 43, velocimeter 45",
    "Ant-8-Hazard": "accelerometer 0, goal_compass 3, gyro 5, hazard_lidar 8, joint_position 24, joint_velocity 32, "
    "magnetometer 40, touch 43, velocimeter 51",
    "Walker-8-Hazard": "accelerometer 0, goal_compass 3, gyro 5, hazard_lidar 8, joint_position 24, "
    "joint_velocity 34, magnetometer 44, touch 47, velocimeter 49",
}

SIDES = ("left", "right")
COMPACT_JOINTS = {
    "Swimmer": ["motor1", "motor2"],
    "Arm3": ["joint_1", "joint_2", "joint_3"],
    "Humanoid": [f"{side}_{joint}" for side in SIDES for joint in ("hip_x", "hip_y", "hip_z", "knee")],
    "Ant": [f"{joint}_{leg}" for joint in ("ankle", "hip") for leg in (1, 2, 3, 4)],
    "Walker": [f"{side}_{joint}" for side in SIDES for joint in ("foot", "hip_x", "hip_y", "hip_z", "leg")],
}

both_presets = pytest.mark.parametrize("preset", ["paper", "compact"])
every_suite = pytest.mark.parametrize("name", PAPER_SUITES)


def observer(name: str, preset: str) -> Observer:
    return Observer(suite(name), preset)


def blocks(name: str, preset: str, reading: dict[str, object] | None = None) -> dict[str, np.ndarray]:
    """The observation at the start, block by block, with some readings put in place of the true ones.

    The robot is at the origin with heading 0, the goal at (-1.2, 0.3), the one obstacle at (1, 0.5).
    """
    task = task_of(name, preset)
    vector = task.start.sensors.copy()
    for block, value in (reading or {}).items():
        vector[task.plan.offsets[block]] = value
    read = jax.jit(task.plan.read)(vector)
    R = jnp.tile(jnp.eye(3), (len(read.position), 1, 1))
    height = 1.0 if task.suite.robot.spatial else 0.0
    goal, obstacle = jnp.array([-1.2, 0.3, 0.7 * height]), jnp.array([[1.0, 0.5, 1.4 * height]])
    observation = jax.jit(task.observer.observe)(read, read.position, R, goal, obstacle)
    assert observation.shape == (task.observer.size,)
    return {name: np.asarray(observation)[where] for name, where in task.observer.layout.items()}


@every_suite
def test_observations_have_the_sizes_of_the_tables(name):
    sizes = SIZES[suite(name).robot.name]
    assert (observer(name, "paper").size, observer(name, "compact").size) == sizes


@pytest.mark.parametrize("name", COMPACT)
def test_blocks_of_compact_observations_begin_at_the_documented_positions(name):
    starts = {block: where.start for block, where in observer(name, "compact").layout.items()}
    assert starts == {block: int(start) for block, start in (pair.split() for pair in COMPACT[name].split(", "))}


def test_paper_observations_include_the_goal_and_blocks_that_stay_empty():
    assert list(observer("Point-8-Hazard", "paper").sizes.items()) == [
        ("accelerometer", 3),
        ("goal_compass", 3),
        ("goal_lidar", 16),
        ("gremlin_lidar", 16),
        ("gyro", 3),
        ("hazard_lidar", 16),
        ("magnetometer", 3),
        ("vase_lidar", 16),
        ("velocimeter", 3),
    ]


@both_presets
@every_suite
def test_blocks_are_in_alphabetical_order_and_cover_the_observation_exactly(name, preset):
    layout = observer(name, preset).layout
    assert list(layout) == sorted(layout)
    covered = [i for where in layout.values() for i in range(where.start, where.stop)]
    assert covered == list(range(observer(name, preset).size))


@both_presets
def test_every_kind_of_a_combination_has_its_own_lidar(preset):
    one, both = (observer(name, preset) for name in ("Point-4-Hazard", "Point-4-Hazard+2-Pillar"))
    assert set(both.sizes) - set(one.sizes) == {"pillar_lidar"}
    assert both.size == one.size + 16


@pytest.mark.parametrize("robot", COMPACT_JOINTS)
def test_compact_joints_are_those_of_the_table_in_its_order(robot):
    chosen = ROBOTS[robot].compact_joints or ROBOTS[robot].joints
    assert list(chosen) == COMPACT_JOINTS[robot]


def test_the_papers_humanoid_senses_all_its_seventeen_hinges():
    assert len(ROBOTS["Humanoid"].joints) == 17
    assert observer("Humanoid-8-Hazard", "paper").sizes["joint_position"] == 17


def test_touch_sensors_are_in_the_order_of_the_table():
    assert ROBOTS["Swimmer"].touch == ("point1", "point2", "point3", "point4")
    assert ROBOTS["Humanoid"].touch == ROBOTS["Walker"].touch == ("touch_left", "touch_right")
    assert ROBOTS["Ant"].touch == tuple(f"touch_{leg}{end}" for leg in (1, 2, 3, 4) for end in "ab")
    assert ROBOTS["Drone"].touch == tuple(f"p{rotor}{end}" for rotor in (1, 2, 3, 4) for end in "ab")


@every_suite
def test_the_sensor_plan_covers_the_simulators_sensors_exactly(name):
    task = task_of(name)
    path = 30 if task.suite.moves else 0
    assert task.plan.size == task.model.nsensordata + path == len(task.start.sensors)


def test_a_sensor_plan_reads_each_block_at_its_place():
    plan = SensorPlan(suite("Point-2-Ghost+1-Pillar"))
    read = plan.read(jnp.arange(plan.size, dtype=jnp.float32))
    assert_allclose(read.accelerometer, [[0, 1, 2]])
    assert_allclose(read.gyro, [[6, 7, 8]])
    assert_allclose(read.attitude, [[12, 13, 14, 15]])
    assert_allclose(read.contact, [16])
    assert_allclose(read.path[0], [17, 18, 19])


@pytest.mark.parametrize(("name", "preset"), [("Ant-1-Hazard", "compact"), ("Walker-1-Hazard", "paper")])
def test_sensor_readings_are_in_the_blocks_of_their_names(name, preset):
    reading = {
        block: float(value)
        for value, block in enumerate(
            ("accelerometer", "velocimeter", "gyro", "joint_position", "joint_velocity", "touch"), start=1
        )
    }
    seen = blocks(name, preset, reading)
    for block, value in reading.items():
        assert (seen[block] == value).all()


def test_compact_observations_of_the_humanoid_have_only_its_leg_joints():
    joints = ROBOTS["Humanoid"].joints
    seen = blocks("Humanoid-1-Hazard", "compact", {"joint_position": np.arange(17), "joint_velocity": -np.arange(17)})
    legs = np.array([joints.index(name) for name in COMPACT_JOINTS["Humanoid"]])
    assert_allclose(seen["joint_position"], legs)
    assert_allclose(seen["joint_velocity"], -legs)


def test_a_robot_on_the_ground_observes_goal_and_obstacle():
    seen = blocks("Point-1-Hazard", "paper")
    assert_allclose(
        seen["goal_compass"][:2] / np.linalg.norm(seen["goal_compass"][:2]), (-0.970143, 0.242536), rtol=1e-5
    )
    assert_allclose(seen["hazard_lidar"][:4], (0.26786, 0.32692, 0.05906, 0), atol=5e-6)
    assert seen["goal_lidar"].argmax() == 7
    assert not seen["vase_lidar"].any()
    assert not seen["gremlin_lidar"].any()


def test_the_drone_observes_goal_and_obstacle():
    seen = blocks("Drone-1-3DHazard", "compact")
    assert_allclose(seen["goal_compass"], (-0.94207, 0.23552, -0.23552), atol=5e-6)
    assert seen["hazard3d_lidar"].reshape(10, 6)[0, 3] == pytest.approx(0.30500, abs=5e-6)


def test_the_arm_has_compasses_and_lidars_at_shoulder_elbow_and_hand():
    seen = blocks("Arm3-1-Hazard", "compact")
    compasses, lidars = seen["goal_compass"].reshape(3, 3), seen["hazard3d_lidar"].reshape(3, 60)
    for place, compass, lidar in zip(((0, 0, 0.3), (0, 0, 1.8), (0, 1, 1.8)), compasses, lidars, strict=True):
        to_goal, to_hazard = np.subtract((-1.2, 0.3, 0.7), place), np.subtract((1.0, 0.5, 1.4), place)
        assert_allclose(compass, to_goal / (np.linalg.norm(to_goal) + 0.001), atol=1e-6)
        assert lidar.max() == pytest.approx(np.exp(-np.linalg.norm(to_hazard)), rel=1e-5)


def test_an_unknown_preset_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"observations='papers' is not known\. Choose one of paper, compact"):
        make_task("Point-8-Hazard", "papers", "closest", 1000)
