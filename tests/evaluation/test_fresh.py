import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from ascpo.engines.functional import FunctionalEngine
from ascpo.engines.rollout import Actor
from ascpo.evaluation.fresh import FreshEpisodes, fresh_episodes
from tests.toys import Corridor


def act(theta, view, noise):
    return theta[:1] + 0.1 * noise


ACTOR = Actor(start=(), after=lambda memory, costs: memory, act=act)


def test_every_environment_plays_one_episode_to_its_end():
    """Full speed is 0.3 a step; after ten steps the walk is at 3, and was 2 beyond the limit at most."""
    engine = FunctionalEngine(Corridor(), 5)
    found = fresh_episodes(engine, ACTOR, jnp.array([1.0]), 0, mean_action=True)
    assert_allclose(found.length, 10)
    assert_allclose(found.reward, 3.0, rtol=1e-5)
    assert_allclose(found.maximum[:, 0], 2.0, rtol=1e-5)
    # 0.2 + 0.5 + … + 2.0
    assert_allclose(found.cost[:, 0], sum(0.3 * i - 1 for i in range(4, 11)), rtol=1e-4)
    assert found.time_limited.all()


def test_sampled_actions_differ_from_mean_ones():
    engine = FunctionalEngine(Corridor(), 5)
    sampled = fresh_episodes(engine, ACTOR, jnp.array([0.2]), 0)
    assert np.ptp(sampled.reward) > 0


def test_more_episodes_than_environments_are_played_in_rounds_of_other_seeds():
    engine = FunctionalEngine(Corridor(), 5)
    found = fresh_episodes(engine, ACTOR, jnp.array([0.2]), 0, episodes=12)
    assert found.reward.shape == (12,)
    assert found.cost.shape == (12, 2)
    assert len(np.unique(found.reward)) == 12


def test_the_summary_counts_episodes_within_their_limits():
    found = FreshEpisodes(
        reward=np.array([1.0, 3.0]),
        cost=np.array([[0.0], [4.0]]),
        maximum=np.array([[0.0], [2.0]]),
        length=np.array([10.0, 30.0]),
        time_limited=np.array([False, True]),
    )
    summary = found.summary((0.0,))
    assert summary["SafeRate"] == 0.5
    assert summary["TimeoutRate"] == 0.5
    assert summary["EpRet"] == 2.0
    assert summary["EpCost"] == 2.0
    assert summary["CostRate"] == pytest.approx(0.1)
