"""Episodes are recorded beside others and played again alone, with random actions."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.engines.actor import ScriptedActor
from ascpo.evaluation.evaluate import records_of
from ascpo.evaluation.records import Record
from ascpo.evaluation.retrace import retrace
from ascpo.runs.directory import NoRun
from ascpo.runs.environment import open_engine
from ascpo.runs.episodes import play
from tests.actors import ToyActor
from tests.own import Cart
from tests.runs.helpers import CART
from tests.shapes import unchecked

LIMITS = (0.0, 0.0, 0.0)
RANDOM = ToyActor(lambda theta, observation, noise: noise + jnp.array([1.0, 0.1]))


def recorded(env, limits, episodes=24):
    engine = open_engine(env, 2, limits=limits)
    actor = RANDOM if engine.action_size == 2 else ScriptedActor()
    origins = [(5 + i // 2, i % 2) for i in range(episodes)]
    played = play(engine, actor, jnp.zeros(0), origins, limits=limits, keep=episodes)
    return records_of(played, origins, env=env, cost_names=engine.cost_names, limits=limits, mean_action=False)


@pytest.fixture(scope="module")
def of_a_suite():
    """Records, and the episodes that were played again."""
    with pytest.MonkeyPatch.context() as patch, unchecked():
        patch.setattr("ascpo.runs.environment.MAX_EPISODE_STEPS", 100)
        found = recorded("Point-8-Hazard+2-Ghost+2-Pillar", LIMITS)
        deep = next(i for i, record in enumerate(found) if record.first_violation[0] > 0)
        return [(found[i], retrace(found[i])) for i in dict.fromkeys((0, deep, 1))], found


def test_an_episode_of_a_suite_is_played_again_bit_for_bit(of_a_suite):
    retraced, found = of_a_suite
    assert {record.episode for record in found} == {0, 1}
    assert any(record.violated for record in found)
    for record, trajectory in retraced:
        over = trajectory.cost > np.array(LIMITS)
        first = np.where(over.any(axis=0), over.argmax(axis=0), -1)
        assert_array_equal(first, record.first_violation)
        assert_array_equal(trajectory.cost.max(axis=0), record.maximum)
        assert trajectory.path is not None
        assert len(trajectory.path.qpos) == len(trajectory.path.layouts) == len(record) + 1


def test_the_path_has_the_positions_at_which_costs_occurred(of_a_suite):
    """The cost of a hazard is the robot's depth inside it, so it follows from the pose after the step."""
    record, trajectory = next(pair for pair in of_a_suite[0] if pair[0].first_violation[0] > 0)
    path = trajectory.path
    assert path is not None
    for t in (record.first_violation[0] - 1, record.first_violation[0], len(record) - 1):
        layout = path.layouts[t + 1]
        c, s = np.cos(layout.heading), np.sin(layout.heading)
        x, y = path.qpos[t + 1, :2]
        place = layout.robot + np.array([c * x - s * y, s * x + c * y])
        depth = 0.3 - np.linalg.norm(layout.obstacles[:8, :2] - place, axis=1).min()
        assert_allclose(trajectory.cost[t, 0], max(depth, 0.0), atol=1e-5)


def test_ghosts_move_in_the_path_and_nothing_else_does(of_a_suite):
    path = of_a_suite[0][0][1].path
    assert path is not None
    moved = np.abs(path.layouts[-1].obstacles - path.layouts[0].obstacles).max(axis=1) > 0.01
    assert_array_equal(np.flatnonzero(moved), [8, 9])


def test_an_episode_of_a_users_environment_is_played_again_bit_for_bit():
    for record in recorded(CART, (0.0,))[:3]:
        trajectory = retrace(record)
        assert trajectory.path is None
        assert_array_equal(trajectory.cost.max(axis=0), record.maximum)
        assert trajectory.reward.sum() == record.reward


class Uneven(Cart):
    """Rewards of so many magnitudes that their sum depends on the order in which they are added."""

    def step(self, action):
        observation, _, *rest = super().step(action)
        return observation, float(np.exp(8.0 * self.np_random.normal())), *rest


def test_an_episode_repeats_whatever_the_magnitudes_of_its_rewards():
    env = f"{__name__}:Uneven"
    records = recorded(env, (0.0,))
    trajectories = [retrace(record, trust_env=True) for record in records]
    # Summed in another order, as NumPy sums, some rewards would not be those of their records.
    assert any(one.reward.sum() != record.reward for one, record in zip(trajectories, records, strict=True))


def test_an_episode_whose_simulation_broke_down_repeats_over_the_same_limits():
    worst = recorded("tests.worlds:Breaking", (5.0,))[0]
    assert worst.maximum == (6.0,)
    assert retrace(worst, trust_env=True).cost[-1] == 6.0


def test_an_episode_that_differs_from_its_record_is_refused():
    record = recorded(CART, (0.0,))[0]
    with pytest.raises(NoRun, match="does not repeat"):
        retrace(Record(**{**vars(record), "seed": record.seed + 1}))


def test_another_machine_shows_its_own_episode_of_a_suite_and_says_how_it_differs(of_a_suite):
    record = of_a_suite[1][0]
    other = replace(record, machine="abacus", reward=record.reward + 1.0)
    with pytest.MonkeyPatch.context() as patch, unchecked():
        patch.setattr("ascpo.runs.environment.MAX_EPISODE_STEPS", 100)
        found, same = retrace(other), retrace(replace(record, machine="abacus", reward=record.reward + 1e-6))
        with pytest.raises(NoRun, match="does not repeat"):
            retrace(replace(other, machine=record.machine))
    assert f"return {record.reward:.4g} instead of {record.reward + 1.0:.4g}" in found.note
    assert not same.note, "nobody would see that difference"


def test_another_machine_shows_an_episode_that_ends_earlier_up_to_that_end(of_a_suite):
    record = of_a_suite[1][0]
    longer = np.concatenate([record.actions, record.actions[:3]])
    with pytest.MonkeyPatch.context() as patch, unchecked():
        patch.setattr("ascpo.runs.environment.MAX_EPISODE_STEPS", 100)
        found = retrace(replace(record, machine="abacus", actions=longer))
    steps = len(record)
    assert f"{steps} steps of {steps + 3}" in found.note
    assert found.path is not None
    assert len(found.reward) == len(found.cost) == steps
    assert len(found.path.qpos) == len(found.path.mocap_pos) == len(found.path.layouts) == steps + 1
