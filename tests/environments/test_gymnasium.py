"""The Gymnasium interface of the suites."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import ascpo
from tests.slow import always, slow

DIFFERENT = ["Point-8-Pillar", "Point-8-Ghost", "Drone-8-3DHazard", "Ant-8-Hazard"]
"""Every kind of obstacle; on wheels, in the air, on legs."""
PLACED = {"robot": [0.0, 0.0, 0.0], "goal": [-1.2, 0.3]}


def point(obstacles, suite="Point-1-Hazard", **scene):
    env = ascpo.make(suite)
    env.reset(seed=0, options=PLACED | {"obstacles": obstacles} | scene)
    return env


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", always(DIFFERENT, "Drone-8-3DHazard"))
def test_gymnasiums_checker_finds_nothing(name):
    check_env(gymnasium.make(f"ascpo/{name}-v0").unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", always(["Drone-8-3DGhost", "Swimmer-2-Pillar"], "Swimmer-2-Pillar"))
def test_suites_beyond_the_papers_run_too(name):
    env = gymnasium.make(f"ascpo/{name}-v0")
    env.reset(seed=0)
    for _ in range(5):
        observation, *_, info = env.step(env.action_space.sample())
    assert observation in env.observation_space
    assert info["cost"] >= 0.0


@slow("bits agree only in programs compiled as for users")
def test_the_single_and_the_vector_form_play_the_same_episodes_bit_for_bit():
    single = gymnasium.make("ascpo/Point-4-Hazard-v0", max_episode_steps=5)
    vector = gymnasium.make_vec("ascpo/Point-4-Hazard-v0", num_envs=3, max_episode_steps=5)
    observation, _ = single.reset(seed=12)
    observations, _ = vector.reset(seed=10)
    np.testing.assert_array_equal(observation, observations[2])
    rng = np.random.default_rng(0)
    for _ in range(12):
        actions = rng.uniform(-1, 1, (3, 2)).astype(np.float32)
        observations, rewards, terminations, truncations, infos = vector.step(actions)
        observation, reward, terminated, truncated, info = single.step(actions[2])
        assert (reward, terminated, truncated) == (rewards[2], terminations[2], truncations[2])
        assert info["cost"] == infos["cost"][2]
        if terminated or truncated:
            np.testing.assert_array_equal(observation, infos["final_obs"][2])
            observation, _ = single.reset()
        np.testing.assert_array_equal(observation, observations[2])


def test_the_vector_form_says_how_it_resets():
    vector = gymnasium.make_vec("ascpo/Point-1-Hazard-v0", num_envs=2, max_episode_steps=2)
    assert vector.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    vector.reset(seed=[4, 9])
    still = np.zeros((2, 2), np.float32)
    *_, info = vector.step(still)
    assert "final_obs" not in info
    _, _, terminated, truncated, info = vector.step(still)
    assert truncated.all()
    assert not terminated.any()
    assert info["_final_obs"].all()
    assert info["final_info"]["cost"].shape == (2,)
    assert {info["final_info"][flag].dtype for flag in ("goal_met", "diverged")} == {np.dtype(bool)}


@slow("bits agree only in programs compiled as for users")
def test_gymnasiums_own_vector_wrapper_agrees_with_ours():
    ours = gymnasium.make_vec("ascpo/Point-1-Ghost-v0", num_envs=2)
    theirs = gymnasium.make_vec("ascpo/Point-1-Ghost-v0", num_envs=2, vectorization_mode="sync")
    np.testing.assert_array_equal(ours.reset(seed=5)[0], theirs.reset(seed=5)[0])
    actions = np.full((2, 2), 0.7, np.float32)
    for _ in range(3):
        mine, yours = ours.step(actions), theirs.step(actions)
        for a, b in zip(mine[:4], yours[:4], strict=True):
            np.testing.assert_array_equal(a, b)
        assert set(yours[4]) <= set(mine[4])


def test_an_episode_is_cut_after_a_thousand_steps():
    env = gymnasium.make("ascpo/Point-1-Hazard-v0")
    env.reset(seed=0)
    for step in range(1000):
        *_, terminated, truncated, _ = env.step(np.zeros(2, np.float32))
        assert not terminated
        assert truncated == (step == 999)


def test_reaching_the_goal_ends_the_episode_and_pays_the_bonus():
    env = point([[1.5, 1.5]], goal=[0.6, 0.0])
    total = 0.0
    for _ in range(50):
        _, reward, terminated, _, info = env.step(np.array([1.0, 0.0], np.float32))
        total += reward
        if terminated:
            break
    assert terminated
    assert info["goal_met"]
    assert 1.1 < total < 1.11 + 0.03, "0.6 m to go, 0.5 m are enough, and a bonus of 1"


def test_a_hazards_cost_is_the_depth_inside_it():
    env = point([[0.2, 0.1]])
    *_, info = env.step(np.zeros(2, np.float32))
    assert info["cost"] == pytest.approx(0.3 - np.hypot(0.2, 0.1), abs=1e-6)
    assert info["cost_hazard"] == info["costs"][0] == info["cost"]


def test_each_kind_of_obstacle_has_its_own_cost():
    env = point([[0.2, 0.0], [1.0, 1.0], [0.4, 0.0]], "Point-2-Hazard+1-Pillar")
    for _ in range(20):
        *_, info = env.step(np.array([1.0, 0.0], np.float32))
    assert env.unwrapped.cost_names == ("hazard", "pillar")
    assert info["cost_pillar"] == info["costs"][1] == 1.0
    assert info["cost_hazard"] == info["costs"][0] > 0.1
    assert info["cost"] == info["costs"].sum()


def test_the_observations_layout_names_what_it_holds():
    env = point([[1.0, 0.5]])
    observation, _ = env.unwrapped.reset(seed=0, options=PLACED | {"obstacles": [[1.0, 0.5]]})
    layout = env.unwrapped.observation_layout
    np.testing.assert_allclose(observation[layout["accelerometer"]], [0, 0, 9.81], atol=1e-5)
    np.testing.assert_allclose(observation[layout["magnetometer"]], [0, -0.5, 0], atol=1e-6)
    np.testing.assert_allclose(observation[layout["hazard_lidar"]][:4], [0.26786, 0.32692, 0.05906, 0], atol=1e-5)
    compact = gymnasium.make("ascpo/Point-1-Hazard-v0", observations="compact")
    observation, _ = compact.reset(options=PLACED | {"obstacles": [[1.0, 0.5]]})
    compass = observation[compact.unwrapped.observation_layout["goal_compass"]]
    np.testing.assert_allclose(compass, [-0.96936, 0.24234], atol=1e-5)


def test_a_turned_robot_observes_a_turned_world():
    env = point([[1.0, 0.5]], robot=[0.0, 0.0, np.pi / 2])
    observation, *_ = env.step(np.zeros(2, np.float32))
    magnetometer = observation[env.unwrapped.observation_layout["magnetometer"]]
    np.testing.assert_allclose(magnetometer, [-0.5, 0, 0], atol=1e-5)
    lidar = observation[env.unwrapped.observation_layout["hazard_lidar"]]
    assert lidar.argmax() == 13, "the hazard is 26.6 degrees to the left of east: 63.4 to the right of north"


@pytest.mark.parametrize("form", ["single", "vector"])
@pytest.mark.parametrize(
    ("action", "sentence"), [([np.nan, 0.0], "holds nan at index"), ([0.0, 0.0, 0.0], "must have shape")]
)
def test_a_bad_action_is_refused_before_anything_moves(form, action, sentence):
    env = gymnasium.make("ascpo/Point-1-Hazard-v0", disable_env_checker=True)
    if form == "vector":
        env, action = gymnasium.make_vec("ascpo/Point-1-Hazard-v0", num_envs=2), [action, action]
    env.reset(seed=0)
    with pytest.raises(ValueError, match=sentence):
        env.step(np.array(action))
    np.testing.assert_array_equal(env.unwrapped._envs.data(0).qpos, 0.0)
    assert env.unwrapped._envs.memory.step[0] == 0


@pytest.mark.parametrize(
    ("suite", "scene", "sentence"),
    [
        ("Point-2-Hazard", {"robot": [0, 0, 0], "goal": [1, 1], "obstacles": [[1, 0]]}, "2 times"),
        ("Point-1-Hazard", {"robot": [0, 0, 0], "goal": [1, 1]}, "'obstacles' is missing"),
        ("Point-1-Hazard", {"robot": [0, 0, 0], "gaol": [1, 1], "obstacles": [[1, 0]]}, "'gaol' is not known"),
        ("Point-1-Hazard", {"robot": [0, 0], "goal": [1, 1], "obstacles": [[1, 0]]}, r"\[x, y, heading\]"),
        ("Point-1-Hazard", {"robot": [0, 0, np.nan], "goal": [1, 1], "obstacles": [[1, 0]]}, "finite"),
        ("Point-1-Hazard", {"robot": [0, 0, 0], "goal": [0.3, 0], "obstacles": [[1, 0]]}, "over at its start"),
        ("Point-1-Hazard", {"robot": "here", "goal": [1, 1], "obstacles": [[1, 0]]}, "must be"),
        ("Point-1-Pillar", {"robot": [0, 0, 0], "goal": [1, 1], "obstacles": [[0.2, 0]]}, "overlaps the robot"),
        ("Point-2-Pillar", {"robot": [0, 0, 0], "goal": [1, 1], "obstacles": [[1, 0], [1.1, 0]]}, "overlap"),
        ("Drone-1-3DHazard", {"robot": [0, 0, 0], "goal": [1, 1], "obstacles": [[1, 0, 1]]}, r"\[x, y, z\]"),
        ("Drone-1-3DHazard", {"robot": [0, 0, 0], "goal": [1, 1, 1], "obstacles": [[1, 0, -1]]}, "below the floor"),
        ("Arm3-1-Hazard", {"robot": [1, 0, 0], "goal": [1, 1, 1], "obstacles": [[1, 0, 1]]}, "bolted"),
    ],
)
def test_an_impossible_scene_is_refused_with_a_message(suite, scene, sentence):
    env = gymnasium.make(f"ascpo/{suite}-v0")
    with pytest.raises(ValueError, match=sentence):
        env.reset(seed=0, options=scene)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"observations": "all"}, "paper, compact"),
        ({"overlap": "mean"}, "closest, sum"),
        ({"render_mode": "ascii"}, "rgb_array"),
        ({"width": 0}, "width=0 must be a whole number of pixels, at least 1"),
        ({"height": 1.5}, "height=1.5 must be a whole number"),
    ],
)
def test_an_impossible_option_is_refused_with_what_is_possible(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        ascpo.GuardEnv("Point-1-Hazard", **options)


def test_a_step_before_the_reset_is_refused():
    with pytest.raises(RuntimeError, match="reset"):
        ascpo.GuardEnv("Point-1-Hazard").step(np.zeros(2))
    with pytest.raises(RuntimeError, match="reset"):
        ascpo.GuardVectorEnv(2, "Point-1-Hazard").step(np.zeros((2, 2)))


def test_a_breakdown_is_reported_in_the_info():
    env = ascpo.make("Point-1-Hazard")
    env.reset(seed=3)
    env.unwrapped._envs._simulator.batch.bind("qvel")[0, 0] = np.inf
    observation, reward, terminated, _, info = env.step(np.zeros(2, np.float32))
    assert terminated
    assert info["diverged"]
    assert info["cost"] == 1.0
    assert reward == -10.0
    assert np.isfinite(observation).all()
    assert "seed 3" in info["error"]
