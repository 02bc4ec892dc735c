"""An environment in a process of another Python is played as if it were in this one."""

import os
import sys
from contextlib import closing
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from ascpo.cli import check
from examples.other_python import OtherPython, point_goal
from tests.examples.standin import Line
from tests.slow import slow


@pytest.fixture(autouse=True)
def found(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def line():
    env = OtherPython(sys.executable, "standin", "Line-v0")
    return gymnasium.wrappers.TimeLimit(env, env.time_limit)


def test_an_environment_in_another_python_gives_the_same_steps_bit_for_bit():
    here, actions = Line(), np.random.default_rng(0).uniform(-1.0, 1.0, (8, 1)).astype(np.float32)
    with closing(line()) as there:
        np.testing.assert_array_equal(there.reset(seed=3)[0], here.reset(seed=3)[0])
        for action in actions:
            observation, reward, terminated, truncated, info = there.step(action)
            expected = here.step(action.tolist())
            np.testing.assert_array_equal(observation, expected[0])
            assert (reward, info["cost"], terminated, truncated) == expected[1:5]
        process = there.unwrapped.process
    assert process.poll() == 0, "the process ends with its environment"


def test_an_environment_in_another_python_can_be_trained_on(capfd):
    check.main([f"{__name__}:line"])
    printed = capfd.readouterr()
    assert "can be trained on" in printed.out
    assert "not silent" in printed.err, "what the package prints is no answer"


def test_a_process_that_dies_is_an_error_with_its_status():
    with closing(line()) as env:
        env.reset(seed=0)
        with pytest.raises(RuntimeError, match=r"standin:Line-v0 has ended with status 7"):
            env.step(np.array([2.0], np.float32))


def test_a_python_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"nowhere/python does not start: No such file"):
        OtherPython("nowhere/python", "standin", "Line-v0")


@slow("plays the real package, in 20 seconds")
@pytest.mark.skipif("SAFETY_PYTHON" not in os.environ, reason="SAFETY_PYTHON names no Python with safety-gymnasium")
def test_safety_gymnasium_can_be_trained_on(capfd, monkeypatch):
    monkeypatch.delenv("PYTHONPATH")
    check.main(["examples.other_python:point_goal"])
    assert "60 numbers" in capfd.readouterr().out
    with closing(point_goal()) as env:
        env.reset(seed=3)
        costs = [env.step(np.array([1.0, 0.3], np.float32))[-1]["cost"] for _ in range(1000)]
    assert set(costs) == {0.0, 1.0}, "a step in a hazard costs 1"
