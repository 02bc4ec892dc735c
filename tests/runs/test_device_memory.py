import pytest

from ascpo.engines.native.engine import NativeEngine
from ascpo.environments.spaces import make_task
from ascpo.runs import device_memory
from ascpo.runs.active_run import agent_of
from ascpo.runs.config import configure
from ascpo.runs.serialization import BadSetting


def agent(**settings):
    engine = NativeEngine(make_task("Point-1-Hazard", "paper", "closest", 1000), 1)
    return agent_of(configure("Point-1-Hazard", **settings), engine)


def test_twice_the_environments_need_twice_the_memory():
    assert device_memory.bytes_of(agent(num_envs=60)) == 2 * device_memory.bytes_of(agent(num_envs=30))


def test_a_longer_window_needs_more_memory(monkeypatch):
    assert device_memory.bytes_of(agent(cost_fit={"window": 20})) > 1.5 * device_memory.bytes_of(agent())


def test_too_many_environments_are_refused_with_the_number_that_fits(monkeypatch):
    one = agent()
    monkeypatch.setattr(device_memory, "_available", lambda: 3.5 * device_memory.bytes_of(one))
    device_memory.check_memory([one] * 3)
    with pytest.raises(BadSetting, match="at most 3 runs at the same time"):
        device_memory.check_memory([one] * 8)


def test_the_error_for_a_single_run_says_how_many_environments_fit(monkeypatch):
    one = agent(num_envs=100)
    monkeypatch.setattr(device_memory, "_available", lambda: 0.5 * device_memory.bytes_of(one))
    with pytest.raises(BadSetting, match="--num-envs 50"):
        device_memory.check_memory([one])


def test_the_memory_of_a_host_is_not_checked_here():
    device_memory.check_memory([agent(num_envs=2**18, horizon=10**6)])
