"""Several runs of one agent in one program give the results of each alone, up to rounding."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ascpo.algorithms import CPO
from ascpo.engines.contract import RunBatch
from ascpo.engines.functional import FunctionalEngine
from ascpo.networks.settings import FitSettings
from ascpo.training.agent import agent_for
from ascpo.training.loop import train
from ascpo.training.metrics import row_of
from ascpo.training.runs import HostMap, RunGroup, VectorMap, vectorised
from ascpo.training.settings import Settings
from tests.slow import slow
from tests.training.test_trouble import FIT, Trouble

SETTINGS = Settings(num_envs=4, horizon=12, hidden=(8, 8), value_fit=FitSettings(4, 16), cost_fit=FIT)
WORLD = Trouble(reward=0.1, cost=0.2, of_action=0.5)
ENGINE = FunctionalEngine(WORLD, 4)
AGENT = agent_for(ENGINE, CPO().build(0.98), SETTINGS)
pytestmark = pytest.mark.usefixtures("unchecked_shapes")


def an_epoch(over_runs, rollouts):
    group = RunGroup(AGENT, [AGENT.init(seed) for seed in (0, 1)], over_runs)
    laps = []
    theta, noise = group.act()
    metrics = group.learn(rollouts, laps.append)
    return group, theta, noise, metrics, laps


def rollouts():
    played = []
    for seed in (0, 1):
        group = RunGroup(AGENT, [AGENT.init(seed)], HostMap())
        ENGINE.start([RunBatch(AGENT.actor, (seed,))])
        theta, noise = group.act()
        played += ENGINE.collect([theta], [noise])
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *played)


@slow("two ways of learning are compiled")
def test_runs_learn_the_same_one_by_one_and_all_at_once():
    collected = rollouts()
    apart, together = (an_epoch(over_runs, collected) for over_runs in (HostMap(), VectorMap()))
    np.testing.assert_array_equal(apart[1], together[1])
    np.testing.assert_array_equal(apart[2], together[2])
    assert apart[4] == together[4] == ["TimeEstimates", "TimePolicy", "TimeCritics"]
    for i in (0, 1):
        alone, beside = apart[0].state(i)(), together[0].state(i)()
        assert jax.tree.structure(alone) == jax.tree.structure(beside)
        np.testing.assert_allclose(alone.policy.theta, beside.policy.theta, rtol=2e-3, atol=2e-4)
        mine, theirs = (row_of(each[3][i], ("cost",)) for each in (apart, together))
        assert list(mine) == list(theirs)
        assert mine["EpRet"] == theirs["EpRet"]
        np.testing.assert_allclose(mine["KL"], theirs["KL"], rtol=1e-2)
    assert not np.allclose(apart[0].state(0)().policy.theta, apart[0].state(1)().policy.theta)


def test_a_returned_state_does_not_change_later():
    group = RunGroup(AGENT, [AGENT.init(3)], HostMap())
    before = group.state(0)
    group.act()
    assert not np.array_equal(jax.random.key_data(before().key), jax.random.key_data(group.state(0)().key))


@slow("compiles")
def test_the_programs_compiled_ahead_are_those_that_are_called():
    group = RunGroup(AGENT, [AGENT.init(0), AGENT.init(1)], VectorMap())
    update, *_ = programs = group.learning_programs()
    assert (len(programs), len(group.acting_programs())) == (4, 2)
    shapes = jax.tree.map(lambda x: (x.shape, x.dtype), update[1][1])
    assert shapes == jax.tree.map(lambda x: (x.shape, x.dtype), rollouts())
    alone = RunGroup(AGENT, [AGENT.init(0)], HostMap())
    assert alone.acting_programs() == alone.learning_programs() == []


@slow("compiles")
def test_nothing_is_compiled_a_second_time(kept_programs, monkeypatch, caplog):
    """What other threads compiled ahead serves the first epoch, and what an epoch leaves behind serves the next."""
    monkeypatch.setattr("ascpo.training.runs.fastest_map", VectorMap)
    assert len(list(train(ENGINE, AGENT, seed=5, epochs=2))) == 2
    compiled = re.findall(r"Compiling jit\((\w+)\)", caplog.text)
    learning = [
        name for name in compiled if name in ("noise", "acting", "estimate", "update", "fit_critics", "measure")
    ]
    assert sorted(learning) == ["acting", "estimate", "fit_critics", "measure", "noise", "update"]


@pytest.fixture
def kept_programs(tmp_path):
    """Programs are kept in a directory of their own, and each that is compiled is logged."""
    names = ("jax_compilation_cache_dir", "jax_log_compiles")
    before = [jax.config.values[name] for name in names]
    vectorised.cache_clear()
    for name, value in zip(names, (str(tmp_path), True), strict=True):
        jax.config.update(name, value)
    yield
    for name, value in zip(names, before, strict=True):
        jax.config.update(name, value)
