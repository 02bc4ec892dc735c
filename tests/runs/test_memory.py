import pytest

from ascpo.engines.native import NativeEngine
from ascpo.environments.spaces import make_task
from ascpo.runs import memory
from ascpo.runs.conduct import learner_of
from ascpo.runs.config import configure
from ascpo.runs.plain import BadSetting


def learner(**settings):
    engine = NativeEngine(make_task("Point-1-Hazard", "paper", "closest", 1000), 1)
    return learner_of(configure("Point-1-Hazard", **settings), engine)


def test_twice_the_environments_need_twice_the_memory():
    assert memory.bytes_of(learner(num_envs=60)) == 2 * memory.bytes_of(learner(num_envs=30))


def test_a_longer_window_needs_more(monkeypatch):
    assert memory.bytes_of(learner(cost_fit={"window": 20})) > 1.5 * memory.bytes_of(learner())


def test_what_does_not_fit_is_refused_with_the_number_that_does(monkeypatch):
    one = learner()
    monkeypatch.setattr(memory, "_room", lambda: 3.5 * memory.bytes_of(one))
    memory.check_room([one] * 3)
    with pytest.raises(BadSetting, match="at most 3 runs together"):
        memory.check_room([one] * 8)


def test_a_single_run_is_told_how_many_environments_would_fit(monkeypatch):
    one = learner(num_envs=100)
    monkeypatch.setattr(memory, "_room", lambda: 0.5 * memory.bytes_of(one))
    with pytest.raises(BadSetting, match="--num-envs 50"):
        memory.check_room([one])


def test_a_host_has_no_limit_that_could_be_known():
    memory.check_room([learner(num_envs=10**6, horizon=10**6)])
