"""A ladder of toy problems, one skill each, and who climbs which rung.

A method that cannot climb a rung by design is asserted to stay where it is.
"""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

from ascpo.algorithms import ASCPO, CPO, SCPO, TRPO
from ascpo.engines.functional import FunctionalEngine
from ascpo.networks.fitting import Fit
from ascpo.training.ask import Ask
from ascpo.training.learner import Learner, Sizes
from ascpo.training.settings import Settings
from ascpo.training.train import train
from ascpo.trust_region.step import TrustRegion
from tests.toys import Corridor, OneStep

SMALL = Fit(iterations=20, batch_size=256)
ALGORITHMS = {
    "trpo": TRPO(),
    "cpo": CPO(cost_fit=SMALL),
    "scpo": SCPO(cost_fit=SMALL),
    "ascpo-reference": ASCPO(mode="reference", cost_fit=SMALL),
    "ascpo-paper": ASCPO(mode="paper", cost_fit=SMALL),
    "ascpo-moment": ASCPO(mode="moment", cost_fit=SMALL),
    "ascpo-cantelli": ASCPO(mode="cantelli", cost_fit=SMALL),
    "ascpo-chance": ASCPO(mode="chance", cost_fit=SMALL),
}
DEFAULT = Ask()
CONSTRAINED = [name for name in ALGORITHMS if name != "trpo"]
OF_THE_SPREAD = ["ascpo-moment", "ascpo-cantelli"]


@functools.cache
def learner_for(algorithm, sizes, ask, limits):
    """Worlds of the same sizes share one, and so its compilation."""
    settings = Settings(
        num_envs=sizes.num_envs,
        horizon=20,
        hidden=(8, 8),
        initial_log_std=-1.0,
        limits=limits,
        value_fit=SMALL,
        trust_region=TrustRegion(fisher_stride=1, cg_iterations=10),
        ask=ask,
    )
    return Learner(algorithm.build(0.98), settings, sizes, limits * sizes.m)


@functools.cache
def climbed(name, world, epochs=100, ask=DEFAULT, limits=(0.0,)):
    """The last epoch's log, and the mean action in the first state."""
    engine = FunctionalEngine(world, 64)
    algorithm = ALGORITHMS[name] if isinstance(name, str) else name
    sizes = Sizes(64, world.observation_size, world.action_size, len(world.cost_names))
    learner = learner_for(algorithm, sizes, ask, limits)
    rows = list(train(engine, learner, 0, epochs))
    view = jnp.concatenate([world.observe(world.begin(None)), learner.actor().fresh()])
    mean = np.asarray(learner.policy(rows[-1].state.theta)(view).mean)
    return rows[-1].row, mean


@pytest.mark.parametrize("name", ALGORITHMS)
def test_reward_only_everyone_finds_the_best_action(name):
    row, mean = climbed(name, OneStep("reward"))
    assert mean[0] == pytest.approx(0.5, abs=0.1)
    assert row["EpCost"] == 0.0


@pytest.mark.parametrize("name", CONSTRAINED)
def test_cost_only_every_constrained_method_learns_to_avoid_it(name):
    row, mean = climbed(name, OneStep("cost"))
    assert mean[0] < 0.0
    assert row["SafeRate"] > 0.9


def test_cost_only_trpo_sees_no_reason_to_move():
    row, _ = climbed("trpo", OneStep("cost"))
    assert row["Gain"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("name", OF_THE_SPREAD)
def test_variance_only_ascpo_chooses_the_narrow_one(name):
    """The mean of the cost is ½ for every action; the spread is a quarter of the whole at a = −0.3."""
    _, mean = climbed(name, OneStep("spread"))
    assert mean[0] < -0.3


def test_variance_only_ascpo_in_the_papers_form_needs_its_weight_at_one():
    _, mean = climbed(ASCPO(mode="paper", omega1=1.0, cost_fit=SMALL), OneStep("spread"))
    assert mean[0] < -0.3


def test_variance_only_scpo_is_indifferent():
    """Its gradient is noise, and so is where it goes: the true mean it looks at does not depend on the action."""
    row, mean = climbed("scpo", OneStep("spread"))
    _, narrow = climbed("ascpo-moment", OneStep("spread"))
    assert row["EpMaxCost"] == pytest.approx(0.5, abs=0.05)
    assert mean[0] > narrow[0]


@pytest.mark.parametrize("name", CONSTRAINED)
def test_an_infeasible_start_is_recovered_from_against_the_reward(name):
    """Reward wants u = 1, where the first policy is, and the limit u ≤ 0."""
    row, mean = climbed(name, OneStep("infeasible"))
    assert mean[0] + 1.0 < 0.1
    assert row["EpMaxCost"] < 0.1


def test_trpo_goes_where_the_reward_is():
    _, mean = climbed("trpo", OneStep("infeasible"))
    assert mean[0] + 1.0 == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("name", ["cpo", "scpo", "ascpo-chance"])
def test_two_constraints_are_held_at_once(name):
    row, mean = climbed(name, OneStep("two"))
    assert (mean < 0.1).all()
    assert row["SafeRate"] > 0.7


@pytest.mark.parametrize("name", ["scpo", "ascpo-moment"])
def test_a_walk_ends_before_the_forbidden_part(name):
    """Full speed would end at 3, of which 2 are forbidden. Most of the way to 1 is to be made, and hardly any cost."""
    row, _ = climbed(name, Corridor())
    assert row["EpRet"] > 0.4
    assert row["EpMaxCost"] < 0.1


def test_a_walk_without_constraint_goes_all_the_way():
    row, _ = climbed("trpo", Corridor())
    assert row["EpRet"] > 2.0


def test_a_generous_limit_leaves_the_reward_alone():
    """Bounds that ask for themselves: a limit of 5 is never near, so the walk goes all the way."""
    row, _ = climbed("ascpo-moment", Corridor(), ask=Ask(closed=False), limits=(500.0,))
    assert row["EpRet"] > 2.0
    assert row["Case"] in {2, 3, 4}
