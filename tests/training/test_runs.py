"""Several seeds of one learner: what one program makes of them all is what each would make alone, up to rounding."""

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from ascpo.algorithms import CPO
from ascpo.engines.functional import FunctionalEngine
from ascpo.networks.fitting import Fit
from ascpo.training.journal import row_of
from ascpo.training.pupils import AllAtOnce, OneByOne, nth
from ascpo.training.settings import Settings
from ascpo.training.train import make_learner
from tests.training.test_trouble import FIT, Trouble

SETTINGS = Settings(num_envs=4, horizon=12, hidden=(8, 8), value_fit=Fit(4, 16), cost_fit=FIT)
WORLD = Trouble(reward=0.1, cost=0.2, of_action=0.5)


@pytest.fixture(autouse=True)
def stacked():
    """Records of several seeds have an axis more than their annotations say."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def an_epoch(kind, learner, rollouts):
    pupils = kind(learner, [learner.start(seed) for seed in (0, 1)])
    laps = []
    theta, noise = pupils.act()
    told = pupils.learn(rollouts if kind is AllAtOnce else [nth(rollouts, i) for i in (0, 1)], laps.append)
    return pupils, theta, noise, told, laps


def test_one_by_one_and_all_at_once_learn_the_same():
    engine = FunctionalEngine(WORLD, 4)
    learner = make_learner(engine, CPO().build(0.98), SETTINGS)
    played = []
    for seed in (0, 1):
        state = learner.start(seed)
        engine.begin(learner.actor(), seed)
        state, noise = learner.noise(state)
        played.append(engine.collect(learner.acting(state), np.asarray(noise)))
    rollouts = jax.tree.map(lambda *leaves: jnp.stack(leaves), *played)
    apart, together = (an_epoch(kind, learner, rollouts) for kind in (OneByOne, AllAtOnce))
    np.testing.assert_array_equal(apart[1], together[1])
    np.testing.assert_array_equal(apart[2], together[2])
    assert apart[4] == together[4] == ["TimeJudge", "TimePolicy", "TimeCritics"]
    for i in (0, 1):
        alone, beside = apart[0].state(i)(), together[0].state(i)()
        assert jax.tree.structure(alone) == jax.tree.structure(beside)
        np.testing.assert_allclose(alone.theta, beside.theta, rtol=2e-3, atol=2e-4)
        mine, theirs = (row_of(each[3][i], ("cost",)) for each in (apart, together))
        assert list(mine) == list(theirs)
        assert mine["EpRet"] == theirs["EpRet"]
        np.testing.assert_allclose(mine["KL"], theirs["KL"], rtol=1e-2)
    assert not np.allclose(apart[0].state(0)().theta, apart[0].state(1)().theta)


def test_a_state_that_was_asked_for_stays_what_it_was():
    engine = FunctionalEngine(WORLD, 4)
    learner = make_learner(engine, CPO().build(0.98), SETTINGS)
    pupils = OneByOne(learner, [learner.start(3)])
    before = pupils.state(0)
    pupils.act()
    assert not np.array_equal(jax.random.key_data(before().key), jax.random.key_data(pupils.state(0)().key))
