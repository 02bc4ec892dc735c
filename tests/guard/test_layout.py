"""Thousands of layouts of every suite, against the rules and a plain implementation of them."""

import os
import time
from functools import cache, partial

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ks_2samp, kstest

from ascpo.guard import layout
from ascpo.guard.costs import region_cost
from ascpo.guard.draws import keys_for
from ascpo.guard.geometry import apply, turn
from ascpo.guard.kinds import HAZARD3D
from ascpo.guard.layout import Layout, LayoutError, draw, draw_many
from ascpo.guard.suites import PAPER_SUITES, suite
from tests.slow import always, slow

from .helpers import task_of

COUNT = 10_000 if os.environ.get("ASCPO_SLOW") else 4_000
ROUNDING = 1e-6
KEEPOUT = {"Hazard": 0.4, "3DHazard": 0.4, "Pillar": 0.3, "Ghost": 0.5}
ROBOT = GOAL = 0.4
IN_THE_AIR = ("Drone-1-3DHazard", "Drone-4-3DHazard", "Drone-8-3DHazard", "Arm3-8-Hazard")
ON_THE_GROUND = tuple(name for name in PAPER_SUITES if name not in IN_THE_AIR)
KS_LIMIT = 1.63 / np.sqrt(COUNT)
"""The largest distance between distribution functions of 99 in 100 samples."""
FOUR_STANDARD_ERRORS = 4 / np.sqrt(COUNT)
"""Of the correlation of independent draws."""

# Mean distance to the goal at the start, and of how many layouts.
START_DISTANCES = {
    **{
        f"{robot}-{n}-Hazard": (d, 3000) for robot in ("Point", "Swimmer") for n, d in ((1, 1.87), (4, 1.89), (8, 1.92))
    },
    **{f"{robot}-8-Hazard": (1.92, 3000) for robot in ("Humanoid", "Ant", "Walker")},
    **{f"Point-{n}-Pillar": (d, 3000) for n, d in ((1, 1.88), (4, 1.86), (8, 1.90))},
    **{f"Point-{n}-Ghost": (d, layouts) for n, d, layouts in ((1, 1.89, 3000), (4, 1.88, 3000), (8, 1.93, 400))},
    **{f"Drone-{n}-3DHazard": (d, 3000) for n, d in ((1, 1.90), (4, 1.90), (8, 1.95))},
    "Arm3-8-Hazard": (1.78, 1500),
}

MOST_DIFFERENT = ("Point-8-Pillar", "Drone-8-3DHazard")
every_suite = pytest.mark.parametrize("name", always(PAPER_SUITES, *MOST_DIFFERENT))


def keys(count: int = COUNT, seed: int = 0) -> np.ndarray:
    return keys_for(np.full(count, seed), np.arange(count))


@cache
def layouts(name: str) -> Layout:
    return draw_many(task_of(name).rules, keys())


def keepout(name: str) -> float:
    return KEEPOUT[name.split("-")[2]]


def gaps(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Distances in the plane."""
    return np.linalg.norm(points[..., :2].astype(float) - others[..., :2], axis=-1)


def tracked_frames(name: str) -> np.ndarray:
    """Where the frame that has to reach the goal stands at the start."""
    drawn, robot = layouts(name), suite(name).robot
    x, y, z = task_of(name).rules.start[robot.frames.index(robot.tracked)]
    c, s = np.cos(drawn.heading), np.sin(drawn.heading)
    return np.stack([drawn.robot[:, 0] + c * x - s * y, drawn.robot[:, 1] + s * x + c * y, 0 * c + z], axis=-1)


def start_distances(name: str) -> np.ndarray:
    axes = 3 if suite(name).robot.spatial else 2
    return np.linalg.norm((layouts(name).goal - tracked_frames(name))[:, :axes], axis=-1)


@every_suite
def test_objects_keep_their_keepout_distances(name):
    drawn, k = layouts(name), keepout(name)
    robot, goal, obstacles = drawn.robot[:, None], drawn.goal[:, None], drawn.obstacles
    assert gaps(robot, goal).min() >= ROBOT + GOAL - ROUNDING
    assert gaps(robot, obstacles).min() >= ROBOT + k - ROUNDING
    assert gaps(goal, obstacles).min() >= GOAL + k - ROUNDING
    for i in range(obstacles.shape[1]):
        assert gaps(obstacles[:, i : i + 1], obstacles[:, i + 1 :]).min(initial=9.0) >= 2 * k - ROUNDING


@every_suite
def test_objects_fill_the_arena_without_its_keepout_margin(name):
    drawn, k = layouts(name), keepout(name)
    reach = 0 if name.startswith("Arm3") else 2 - ROBOT
    for xy, half in ((drawn.robot, reach), (drawn.goal, 2 - GOAL), (drawn.obstacles.reshape(-1, 3), 2 - k)):
        assert np.abs(xy[:, :2]).max() <= half + ROUNDING
        assert_allclose(xy[:, :2].min(axis=0), -half, atol=0.01)
        assert_allclose(xy[:, :2].max(axis=0), half, atol=0.01)


@every_suite
def test_headings_are_uniform(name):
    heading = layouts(name).heading
    assert heading.min() >= 0
    assert heading.max() <= 2 * np.pi
    assert kstest(heading / (2 * np.pi), "uniform").statistic < KS_LIMIT
    # Standard error of the mean: 2π / √12 / √COUNT = 1.8 / √COUNT.
    assert heading.mean() == pytest.approx(np.pi, abs=6 / np.sqrt(COUNT))


@pytest.mark.parametrize("name", always(IN_THE_AIR, "Drone-8-3DHazard"))
def test_heights_in_the_air_are_uniform(name):
    drawn = layouts(name)
    for z in (drawn.goal[:, 2], *drawn.obstacles[:, :, 2].T):
        assert 0.5 <= z.min() < 0.51
        assert 1.49 < z.max() <= 1.5
        # Arm3's hazards are drawn again where they hold the arm, which bends their distribution a little.
        assert kstest(z - 0.5, "uniform").statistic < KS_LIMIT + 0.005


@pytest.mark.parametrize("name", always(IN_THE_AIR, "Drone-8-3DHazard"))
def test_heights_and_heading_are_drawn_one_by_one(name):
    drawn = layouts(name)
    correlations = np.corrcoef([drawn.heading, drawn.goal[:, 2], *drawn.obstacles[:, :, 2].T])
    assert_allclose(correlations, np.eye(len(correlations)), atol=FOUR_STANDARD_ERRORS)


@pytest.mark.parametrize("name", always(ON_THE_GROUND, *MOST_DIFFERENT))
def test_heights_on_the_ground_are_fixed(name):
    heights = {"Hazard": 0.02, "Ghost": 0.02, "Pillar": 0.5}
    assert_allclose(layouts(name).goal[:, 2], 0.26, rtol=1e-6)
    assert_allclose(layouts(name).obstacles[..., 2], heights[name.split("-")[2]], rtol=1e-6)


@every_suite
def test_places_are_drawn_afresh_for_every_key(name):
    x = layouts(name).goal[:, 0]
    assert len(np.unique(x)) > 0.99 * COUNT
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < FOUR_STANDARD_ERRORS


@every_suite
def test_the_mean_start_distance_to_the_goal_agrees_with_an_earlier_measurement(name):
    # Three standard errors of the difference of two means, ours and the printed one, and half a printed digit.
    printed, of_layouts = START_DISTANCES[name]
    d = start_distances(name)
    standard_error = d.std() * np.sqrt(1 / COUNT + 1 / of_layouts)
    assert d.mean() == pytest.approx(printed, abs=3 * standard_error + 0.005)


@slow("a property of the drawn scenes")
def test_hazards_and_goal_of_the_arm_are_within_its_reach():
    drawn = layouts("Arm3-8-Hazard")
    assert gaps(drawn.obstacles, np.zeros(3)).max() <= 2.0 + ROUNDING
    assert np.linalg.norm(drawn.goal, axis=-1).max() <= 2.0 + ROUNDING


@slow("compiles the arm's kinematics")
def test_the_arms_hand_is_never_at_the_goal_at_the_start():
    assert_allclose(tracked_frames("Arm3-8-Hazard")[:, 2], 1.8, rtol=1e-6)
    assert 0.5 - ROUNDING <= start_distances("Arm3-8-Hazard").min() < 0.55


@slow("compiles the arm's kinematics")
def test_the_arm_starts_at_no_cost():
    drawn, rules = layouts("Arm3-8-Hazard"), task_of("Arm3-8-Hazard").rules

    @jax.jit
    @jax.vmap
    def cost(heading, obstacles):
        frames = apply(turn(heading), jnp.array(rules.start))
        return region_cost(HAZARD3D, rules.suite.robot, frames, obstacles, "closest")

    assert (np.asarray(cost(drawn.heading, drawn.obstacles)) == 0).all()


@pytest.mark.parametrize("name", always(["Point-8-Ghost", "Drone-1-3DHazard", "Arm3-8-Hazard"], "Point-8-Ghost"))
def test_layouts_are_bit_identical_drawn_one_by_one_and_together(name):
    alone = jax.jit(jax.vmap(partial(draw, task_of(name).rules)))(jnp.asarray(keys(200)))
    for one, many in zip(jax.tree.leaves(alone), jax.tree.leaves(layouts(name)), strict=True):
        assert (np.asarray(one) == many[:200]).all()


def test_a_key_gives_the_same_layout_in_every_batch():
    rules = task_of("Point-8-Hazard").rules
    wanted = np.array([COUNT - 1, 3, 700])
    for few, many in zip(
        jax.tree.leaves(draw_many(rules, keys()[wanted])), jax.tree.leaves(layouts("Point-8-Hazard")), strict=True
    ):
        assert (few == many[wanted]).all()


def test_seeds_and_episodes_name_different_keys():
    seeds, episodes = (axis.ravel() for axis in np.meshgrid(np.arange(30), np.arange(30)))
    assert len(np.unique(keys_for(seeds, episodes), axis=0)) == 900


def layout_by_hand(rng: np.random.Generator, keepouts: list[float]) -> list[tuple[float, float]]:
    """Robot, goal and obstacles, by the rules. It starts again if a hundred draws find no place."""

    def first_that_fits(k: float, others: list[tuple[float, float, float]], draws: int):
        for x, y in rng.uniform(k - 2, 2 - k, (draws, 2)):
            if all((x - a) ** 2 + (y - b) ** 2 >= (k + other) ** 2 for a, b, other in others):
                return x, y, k
        return None

    while True:
        placed: list[tuple[float, float, float]] = []
        for k in keepouts:
            if (place := first_that_fits(k, placed, 100)) is None:
                break
            placed.append(place)
        else:
            robot, _, *obstacles = placed
            goal = first_that_fits(keepouts[1], [robot, *obstacles], 10_000)
            if goal is not None:
                return [(x, y) for x, y, _ in (robot, goal, *obstacles)]


def test_layouts_have_the_distribution_that_the_rules_define():
    rng = np.random.default_rng(0)
    by_hand = np.array([layout_by_hand(rng, [ROBOT, GOAL] + 8 * [KEEPOUT["Hazard"]]) for _ in range(1500)])
    ours = layouts("Point-8-Hazard")
    assert ks_2samp(start_distances("Point-8-Hazard"), gaps(by_hand[:, 0], by_hand[:, 1])).pvalue > 0.01
    for obstacle in (0, 3, 7):
        assert ks_2samp(ours.obstacles[:, obstacle, 0], by_hand[:, 2 + obstacle, 0]).pvalue > 0.01
    assert ks_2samp(ours.goal[:, 1], by_hand[:, 1, 1]).pvalue > 0.01


def test_an_overfull_arena_is_an_error_and_not_an_endless_search(monkeypatch):
    # Nine ghosts fit in one try of a thousand or so.
    monkeypatch.setattr(layout, "LAYOUTS", 2)
    with pytest.raises(LayoutError, match=r"No layout of Point-9-Ghost .* too full\. Use fewer obstacles"):
        draw_many(task_of("Point-9-Ghost").rules, keys(3))
    assert np.isnan(jax.jit(partial(draw, task_of("Point-9-Ghost").rules))(jnp.asarray(keys(1)[0])).heading)


@slow("draws ten thousand layouts")
def test_ten_thousand_layouts_of_the_fullest_suite_take_seconds(monkeypatch):
    layouts("Point-8-Ghost")  # compiles
    # Only tests check types at call time, so that time does not count.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    rules, wanted, seconds = task_of("Point-8-Ghost").rules, keys(10_000), []
    for _ in range(3):
        begin = time.perf_counter()
        draw_many(rules, wanted)
        seconds.append(time.perf_counter() - begin)
    # On an idle machine it is one (benchmarks/RESULTS.md); tests share theirs.
    assert min(seconds) < 10.0
