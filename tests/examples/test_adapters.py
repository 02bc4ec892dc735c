"""Environments of other packages: their wrappers have a cost, and can be trained on."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from ascpo.cli import check
from examples import adapters

PACKAGES = {"point_maze": "gymnasium_robotics", "highway": "highway_env", "cartpole": "mujoco_playground"}


class Choices(gymnasium.Env):
    """Its actions are choices, and its observations a Dict."""

    action_space = spaces.Discrete(3)
    observation_space = spaces.Dict({"place": spaces.Box(-1.0, 1.0, (2,)), "time": spaces.Box(0.0, 1.0, (1,))})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._observation(), {}

    def step(self, action):
        return self._observation(), 0.0, False, False, {}

    def _observation(self):
        return {"place": np.array([0.5, -0.5], np.float32), "time": np.zeros(1, np.float32)}


class Numbers(Choices):
    action_space = spaces.Box(-1.0, 1.0, (1,))


def flat():
    env = adapters.Cost(gymnasium.wrappers.TimeLimit(Numbers(), 10), lambda observation, _: observation["place"][0])
    return gymnasium.wrappers.FlattenObservation(env)


def test_the_cost_is_computed_from_the_observation_before_it_gets_flat():
    env = flat()
    env.reset(seed=0)
    observation, *_, info = env.step(np.zeros(1, np.float32))
    assert observation.shape == (3,)
    assert info["cost"] == 0.5


def test_a_flattened_dict_can_be_trained_on(capsys):
    check.main([f"{__name__}:flat"])
    assert "can be trained on" in capsys.readouterr().out


def test_discrete_actions_are_refused_with_the_reason():
    with pytest.raises(ValueError, match=r"(?s)Discrete.*ActionWrapper.*FlattenObservation"):
        check.main([f"{__name__}:Choices"])


@pytest.mark.parametrize("name", PACKAGES)
def test_the_wrapped_environment_of_a_package_can_be_trained_on(name, capsys):
    pytest.importorskip(PACKAGES[name], reason=f"{PACKAGES[name]} is not installed")
    check.main([f"examples.adapters:{name}"])
    assert "can be trained on" in capsys.readouterr().out
