"""Several runs of one agent: what one program makes of them all is what each would make alone, up to rounding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ascpo.algorithms import CPO
from ascpo.engines.contract import RunBatch
from ascpo.engines.functional import FunctionalEngine
from ascpo.networks.settings import FitSettings
from ascpo.training.agent import agent_for
from ascpo.training.metrics import row_of
from ascpo.training.runs import HostMap, RunGroup, VectorMap
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
def test_one_by_one_and_all_at_once_learn_the_same():
    collected = rollouts()
    apart, together = (an_epoch(over_runs, collected) for over_runs in (HostMap(), VectorMap()))
    np.testing.assert_array_equal(apart[1], together[1])
    np.testing.assert_array_equal(apart[2], together[2])
    assert apart[4] == together[4] == ["TimeJudge", "TimePolicy", "TimeCritics"]
    for i in (0, 1):
        alone, beside = apart[0].state(i)(), together[0].state(i)()
        assert jax.tree.structure(alone) == jax.tree.structure(beside)
        np.testing.assert_allclose(alone.policy.theta, beside.policy.theta, rtol=2e-3, atol=2e-4)
        mine, theirs = (row_of(each[3][i], ("cost",)) for each in (apart, together))
        assert list(mine) == list(theirs)
        assert mine["EpRet"] == theirs["EpRet"]
        np.testing.assert_allclose(mine["KL"], theirs["KL"], rtol=1e-2)
    assert not np.allclose(apart[0].state(0)().policy.theta, apart[0].state(1)().policy.theta)


def test_a_state_that_was_asked_for_stays_what_it_was():
    group = RunGroup(AGENT, [AGENT.init(3)], HostMap())
    before = group.state(0)
    group.act()
    assert not np.array_equal(jax.random.key_data(before().key), jax.random.key_data(group.state(0)().key))


@slow("compiles")
def test_the_programs_to_compile_ahead_are_those_that_will_be_called():
    group = RunGroup(AGENT, [AGENT.init(0), AGENT.init(1)], VectorMap())
    jobs = group.compile_jobs()
    assert len(jobs) == 4
    shapes = jax.tree.map(lambda x: (x.shape, x.dtype), jobs[0][1][1])
    assert shapes == jax.tree.map(lambda x: (x.shape, x.dtype), rollouts())
    assert RunGroup(AGENT, [AGENT.init(0)], HostMap()).compile_jobs() == []
