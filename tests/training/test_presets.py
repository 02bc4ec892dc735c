"""Training with presets: every epoch can be traced, and short trainings stay finite."""

import functools

import jax
import numpy as np
import pytest

from ascpo.algorithms import ALGORITHMS
from ascpo.algorithms.presets import PRESETS
from ascpo.engines.functional import FunctionalEngine
from ascpo.runs.config import configure
from ascpo.training.agent import agent_for
from ascpo.training.estimate import estimate
from ascpo.training.fit import fit_critics
from ascpo.training.loop import train
from ascpo.training.update import update
from tests.slow import always
from tests.toys import Corridor
from tests.training.test_settings import SMALL, agent_with, rollout_of, starting


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("algo", always(ALGORITHMS, "ascpo", "trpo-usl"))
def test_an_epoch_can_be_traced_and_leaves_a_state_of_the_same_shape(algo, preset):
    agent = agent_with(algo, SMALL | {"preset": preset})
    state, _ = starting(agent)
    rollout = rollout_of(agent)
    estimates = jax.eval_shape(functools.partial(estimate, agent), state, rollout)
    updated, report, _ = jax.eval_shape(functools.partial(update, agent), state, rollout, estimates)
    fitted, _ = jax.eval_shape(functools.partial(fit_critics, agent), updated, estimates)
    shapes = [[(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(each)] for each in (state, fitted)]
    assert shapes[0] == shapes[1]
    assert report.divergence.shape == ()


@pytest.mark.parametrize("algo", always(["ascpo", "pascpo"]))
def test_a_short_training_with_the_released_preset_stays_finite(algo):
    few = {"iterations": 4}
    config = configure(
        "corridor", algo, preset="released", num_envs=2, horizon=40, hidden=(8, 8), value_fit=few, cost_fit=few
    )
    engine = FunctionalEngine(Corridor(), config.settings.num_envs)
    epochs = list(train(engine, agent_for(engine, config.algorithm(), config.settings), 0, 4))
    for epoch in epochs:
        for leaf in jax.tree.leaves((epoch.state.learner.policy, epoch.state.learner.value.params)):
            assert np.isfinite(np.asarray(leaf)).all()
        assert epoch.row["Episodes"] == 8, "two environments, four episodes of ten steps each"
    assert any(epoch.row["Accepted"] for epoch in epochs)
