"""Degenerate environments: each gives a defined step or a clear error, and never NaN."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ascpo.algorithms import ASCPO, CPO, TRPO
from ascpo.engines.functional import FunctionalEngine, Transition
from ascpo.networks.settings import CostFitSettings, FitSettings
from ascpo.training.agent import agent_for
from ascpo.training.loop import TrainingDiverged, train
from ascpo.training.settings import Settings
from tests.slow import always, slow

FIT = CostFitSettings(iterations=4, batch_size=32, balance="subsample", monotone_weight=1.0, window=1)
ALL = always([TRPO(), ASCPO(mode="cantelli")], ASCPO(mode="cantelli"))
"""Without constraint, and with a maximum and two critics for it."""


@dataclass(frozen=True)
class Trouble:
    """Constant observations; rewards and costs as told; episodes of `length` steps, or without end."""

    reward: float = 0.0
    cost: float = 0.0
    length: int = 5
    of_action: float = 0.0
    """How much of the cost the action decides."""
    observation_size: int = 3
    action_size: int = 2
    cost_names: tuple[str, ...] = ("cost",)

    def begin(self, key):
        return jnp.zeros((), jnp.int32)

    def observe(self, state):
        return jnp.zeros(3)

    def step(self, state, action, key):
        cost = self.cost + self.of_action * jnp.maximum(action[0], 0.0)
        late = (state + 1 >= self.length) if self.length else jnp.zeros((), bool)
        return Transition(state + 1, jnp.float32(self.reward), cost[None], jnp.zeros((), bool), late)


def rows(algorithm, world, epochs=3, num_envs=4, horizon=12, **settings):
    built = algorithm.build(0.98)
    of_costs = {"cost_fit": FIT} if built.cost_critics else {}
    settings = Settings(
        num_envs=num_envs, horizon=horizon, hidden=(8, 8), value_fit=FitSettings(4, 16), **of_costs, **settings
    )
    engine = FunctionalEngine(world, num_envs)
    out = list(train(engine, agent_for(engine, built, settings), 0, epochs))
    for epoch in out:
        learner = epoch.state.learner
        assert np.isfinite(np.asarray(learner.policy.theta)).all()
        if learner.cost is not None:
            for leaf in jnp.ravel(learner.cost.params.body.layers[0].weight), learner.running.max_cost:
                assert np.isfinite(np.asarray(leaf)).all()
    return [epoch.row for epoch in out]


@pytest.mark.parametrize("algorithm", ALL, ids=lambda a: type(a).__name__ + getattr(a, "mode", ""))
class TestEveryAlgorithmSurvives:
    def test_constant_observations_without_rewards_and_costs(self, algorithm):
        """Constant observations, zero advantages, no positive cost target, no cost gradient."""
        assert rows(algorithm, Trouble())[-1]["EpRet"] == 0.0

    def test_costs_that_no_action_changes(self, algorithm):
        """Every start is infeasible, and no step could mend it."""
        last = rows(algorithm, Trouble(reward=1.0, cost=1.0))[-1]
        assert last["SafeRate"] == 0.0
        # Every step costs 1, so that is the rate of this epoch and of all, and the worst state's cost.
        assert (last["CostRate"], last["EpochCostRate"], last["WorstCost"]) == (1.0, 1.0, 1.0)

    def test_episodes_that_never_finish(self, algorithm):
        last = rows(algorithm, Trouble(reward=1.0, of_action=1.0, length=0))[-1]
        assert last["Episodes"] == 0
        # Three epochs of twelve steps: the running episodes stand in for finished ones.
        assert last["EpLen"] == 36
        assert last["EpRet"] == 36.0


@slow("compiles its own epoch")
def test_one_environment_and_one_step_are_enough():
    rows(CPO(), Trouble(of_action=1.0, length=1), num_envs=1, horizon=1)


@slow("compiles its own epoch")
def test_episodes_may_be_cut_at_the_end_of_an_epoch():
    last = rows(ALL[-1], Trouble(of_action=1.0, length=0), carry=False)[-1]
    assert last["EpLen"] == 12


def test_rewards_that_are_not_numbers_stop_the_training_with_a_message():
    with pytest.raises(TrainingDiverged, match="not finite"):
        rows(ALL[-1], Trouble(reward=float("nan")))


@dataclass(frozen=True)
class SomeStuck(Trouble):
    """Half of the episodes do not end for long, and their rewards are not numbers."""

    def begin(self, key):
        return jnp.where(jax.random.bernoulli(key), 0, -1000)

    def step(self, state, action, key):
        return replace(super().step(state, action, key), reward=jnp.where(state < 0, jnp.nan, 1.0))


def test_rewards_of_unfinished_episodes_that_are_not_numbers_stop_the_training_too():
    """The mean return of the finished episodes is a number, but the critic has learned from the others."""
    with pytest.raises(TrainingDiverged, match=r"Epoch 0 .* not finite \(EpRet [0-9.]+, LossV nan\)"):
        rows(ALL[-1], SomeStuck())


def test_a_wrong_number_of_limits_is_refused():
    with pytest.raises(ValueError, match="2 limits for 1 constraints"):
        rows(TRPO(), Trouble(), limits=(0.0, 1.0))


@pytest.mark.parametrize(
    "wrong", [{"num_envs": 0}, {"horizon": 0}, {"discount": 1.5}, {"probability": 98.0}, {"hidden": (8, 9)}]
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ValueError, match=str(next(iter(wrong)))):
        Settings(**wrong)


def test_the_same_seed_gives_the_same_numbers():
    first, second = (rows(ALL[-1], Trouble(of_action=1.0)) for _ in range(2))
    np.testing.assert_equal(first, second)
