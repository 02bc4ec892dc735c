"""A trained policy acts in a user's environment as the documented loop says."""

import gymnasium
import numpy as np
import pytest

import ascpo
from tests.evaluation.untrained import untrained
from tests.own import Cart


class Telling(Cart):
    """Its reset tells something too; the steps give costs and margins."""

    def reset(self, *, seed=None, options=None):
        observation, _ = super().reset(seed=seed)
        return observation, {"scene": seed}

    def step(self, action):
        *rest, info = super().step(action)
        return *rest, info | {"margins": [self.x - 1.0]}


class TellingTwo(Telling):
    """The same with two costs."""

    def step(self, action):
        *rest, info = super().step(action)
        return *rest, {"costs": [info["cost"], 0.0], "margins": [self.x - 1.0, -1.0]}


gymnasium.register("tests/Telling-v0", Telling)
gymnasium.register("tests/TellingTwo-v0", TellingTwo)


@pytest.fixture(params=["tests/Telling-v0", "tests/TellingTwo-v0"])
def near_miss_policy(request, tmp_path):
    run = untrained(tmp_path, env=request.param, algo="ascpo", near_miss=0.5, shift=0.02)
    return ascpo.load(run), gymnasium.make(request.param)


def test_the_documented_loop_runs_if_reset_returns_an_info(near_miss_policy):
    policy, env = near_miss_policy
    actions = []
    for _ in range(2):
        observation, info = env.reset(seed=3)
        policy.start()
        for _ in range(5):
            action = policy.act(observation, info)
            actions.append(action)
            observation, _, _, _, info = env.step(action)
    np.testing.assert_array_equal(actions[:5], actions[5:])


def test_only_the_first_action_of_an_episode_ignores_its_info(near_miss_policy):
    policy, env = near_miss_policy
    m = len(policy.cost_names)
    observation, _ = env.reset(seed=3)
    first = policy.act(observation, {"costs": np.ones(m), "margins": np.ones(m)})
    assert not np.array_equal(first, policy.act(observation, {"costs": np.ones(m), "margins": np.ones(m)}))
    policy.start()
    np.testing.assert_array_equal(first, policy.act(observation))


@pytest.mark.parametrize("info", [{}, {"margins": [0.0]}])
def test_a_step_without_a_cost_in_its_info_is_refused(near_miss_policy, info):
    policy, env = near_miss_policy
    observation, _ = env.reset(seed=3)
    policy.act(observation)
    with pytest.raises(ValueError, match=r"neither costs nor cost.* call start\(\)"):
        policy.act(observation, info)


def test_a_cost_that_is_not_a_number_is_refused_as_in_training(near_miss_policy):
    policy, env = near_miss_policy
    observation, _ = env.reset(seed=3)
    policy.act(observation)
    with pytest.raises(ValueError, match="Costs are finite numbers"):
        policy.act(observation, {"cost": float("nan")})
