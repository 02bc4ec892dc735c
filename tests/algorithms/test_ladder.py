"""Toy problems, each of which needs one skill, and the algorithms that solve them.

If an algorithm cannot solve a problem by design, the test asserts that it does not. ASCPO is always tested, the other
algorithms in the long run.
"""

import functools
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from ascpo.algorithms import ALGORITHMS, ASCPO
from ascpo.engines.functional import FunctionalEngine
from ascpo.networks.settings import CostFitSettings, FitSettings
from ascpo.surrogates.settings import TargetSettings
from ascpo.training.agent import Agent
from ascpo.training.loop import train
from ascpo.training.settings import Settings
from ascpo.training.state import Sizes
from ascpo.trust_region.clipped import ClippedStep
from ascpo.trust_region.settings import TrustRegion
from tests.slow import always, slow
from tests.toys import Corridor, OneStep

pytestmark = pytest.mark.usefixtures("unchecked_shapes")
SMALL = FitSettings(iterations=20, batch_size=256)
SMALL_OF_COSTS = CostFitSettings(iterations=20, batch_size=256, balance="none", window=1)
OF_THE_SPREAD = {f"ascpo-{mode}": ASCPO(mode=mode) for mode in ("moment", "cantelli")}
CONSTRAINED = ("cpo", "pcpo", "scpo", "ascpo")
OWN_BOUND = {f"{name}-own": ALGORITHMS[name](target=TargetSettings("own")) for name in CONSTRAINED}
"""As published: every step aims at the algorithm's own bound. With it, CPO-CVaR solves no more than with feedback."""
METHODS = {name: kind() for name, kind in ALGORITHMS.items()} | OF_THE_SPREAD | OWN_BOUND
BOUNDING = [name for name, method in METHODS.items() if method.build(0.98).constraint]
"""These keep a bound in every step."""
PAYING = [name for name, method in METHODS.items() if method.build(0.98).penalty]
"""These pay for costs."""
SHIELDED = ["trpo-sl", "trpo-usl"]
OF_THE_TAIL = ["trpo-cvar", "cpo-cvar"]


def some(names):
    return always(names, "ascpo")


def agent_for(algorithm, sizes, limits):
    """Worlds of equal sizes share an agent and its compiled programs."""
    built = algorithm.build(0.98)
    if built.shield:
        fit = replace(built.shield.fit, iterations=SMALL.iterations, batch_size=SMALL.batch_size)
        built = replace(built, shield=replace(built.shield, fit=fit))
    clipped = isinstance(built.step, ClippedStep)
    region = TrustRegion(fisher_stride=1, cg_iterations=10)
    settings = Settings(
        num_envs=sizes.num_envs,
        horizon=20,
        hidden=(8, 8),
        initial_log_std=-1.0,
        limits=limits,
        value_fit=SMALL,
        cost_fit=SMALL_OF_COSTS if built.cost_critics else CostFitSettings(),
        trust_region=TrustRegion() if clipped else replace(region, signal_every=0) if built.constraint else region,
    )
    return Agent(built, settings, sizes, limits * sizes.m)


@functools.cache
def climbed(name, world, epochs=75, limits=(0.0,)):
    """The last epoch's log, and the mean action in the first state."""
    engine = FunctionalEngine(world, 64)
    algorithm = METHODS[name] if isinstance(name, str) else name
    sizes = Sizes(64, world.observation_size, world.action_size, len(world.cost_names))
    agent = agent_for(algorithm, sizes, limits)
    rows = list(train(engine, agent, 0, epochs))
    observation = jnp.concatenate([world.observe(world.begin(None)), agent.actor.initial()])
    mean = np.asarray(agent.policy(rows[-1].state.learner.policy.theta)(observation).mean)
    return rows[-1].row, mean


@pytest.mark.parametrize("name", always(ALGORITHMS))
def test_reward_only_every_algorithm_finds_the_best_action(name):
    row, mean = climbed(name, OneStep("reward"))
    assert mean[0] == pytest.approx(0.5, abs=0.1)
    assert row["EpCost"] == 0.0


@pytest.mark.parametrize("name", some(name for name in [*BOUNDING, *PAYING] if name not in OF_THE_TAIL))
def test_cost_only_every_constrained_method_learns_to_avoid_it(name):
    row, mean = climbed(name, OneStep("cost"))
    assert mean[0] < 0.0
    assert row["SafeRate"] > 0.9


@pytest.mark.parametrize("name", some(OF_THE_TAIL))
def test_cost_only_cvar_methods_lower_the_cost_but_narrow_the_policy_before_they_move_it(name):
    """Only the worst tenth has a gradient; once the policy is narrow, its steps are small."""
    row, _ = climbed(name, OneStep("cost"))
    assert row["EpCost"] < 0.12  # σ/√(2π) = 0.15 at the start


@pytest.mark.parametrize("name", some(SHIELDED))
def test_cost_only_a_shield_prevents_costs_although_the_policy_has_no_gradient(name):
    row, _ = climbed(name, OneStep("cost"))
    assert row["ShieldRate"] > 0.1
    assert row["EpCost"] < 0.1


@slow("TRPO is compiled")
def test_cost_only_trpo_has_no_gradient():
    row, _ = climbed("trpo", OneStep("cost"))
    assert row["Gain"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("name", always(OF_THE_SPREAD))
def test_variance_only_ascpo_learns_the_action_with_less_variance(name):
    """The mean of the cost is ½ for every action; the spread is a quarter of the whole at a = −0.3."""
    _, mean = climbed(name, OneStep("spread"))
    assert mean[0] < -0.3


@slow("compiles its own agent")
def test_variance_only_the_paper_bound_needs_omega1_of_one():
    _, mean = climbed(ASCPO(mode="paper", omega1=1.0), OneStep("spread"))
    assert mean[0] < -0.3


@slow("compiles its own agent")
def test_variance_only_scpo_is_indifferent():
    """Its gradient is only noise, because the true mean does not depend on the action."""
    row, mean = climbed("scpo", OneStep("spread"))
    _, narrow = climbed("ascpo-moment", OneStep("spread"))
    assert row["EpMaxCost"] == pytest.approx(0.5, abs=0.05)
    assert mean[0] > narrow[0]


@pytest.mark.parametrize("name", always(name for name in BOUNDING if name != "cpo-cvar"))
def test_constrained_methods_recover_from_an_infeasible_start_against_the_reward(name):
    """The reward is highest at u = 1, where the policy starts, and the limit is u ≤ 0."""
    epochs, far = (100, 0.25) if name in OF_THE_SPREAD else (75, 0.1)
    row, mean = climbed(name, OneStep("infeasible"), epochs)
    assert mean[0] + 1.0 < far
    assert row["EpMaxCost"] < far


@pytest.mark.parametrize("name", some(["pascpo", "ppo-lagrangian"]))
def test_rising_multipliers_lead_out_of_an_infeasible_start(name):
    row, _ = climbed(name, OneStep("infeasible"))
    assert row["EpMaxCost"] < 0.1
    assert row["Multiplier"] > 10


@slow("these are known limitations")
@pytest.mark.parametrize("name", ["trpo-lagrangian", "trpo-fac", "trpo-ipo", "trpo-cvar", "cpo-cvar"])
def test_some_methods_never_leave_an_infeasible_start_at_the_optimum_of_the_reward(name):
    """Advantages of the reward are scaled to 1 however narrow the policy gets, and those of costs shrink with it.

    Near the optimum the reward outweighs a multiplier of a hundred. The gradient of CVaR narrows the policy, as above.
    """
    row, _ = climbed(name, OneStep("infeasible"))
    assert row["EpMaxCost"] > 0.9


@slow("compiles its own two agents")
def test_a_linear_model_without_offset_cannot_leave_an_infeasible_start():
    """At a = 0 it predicts no cost, but the cost is 1."""
    row, _ = climbed("trpo-sl", OneStep("infeasible"))
    assert row["EpMaxCost"] > 0.9
    row, _ = climbed("trpo-usl", OneStep("infeasible"))
    assert row["EpMaxCost"] < 0.35, "a model that is not linear can, down to its threshold"


@slow("a walker without constraint shows it, too")
def test_trpo_goes_where_the_reward_is():
    _, mean = climbed("trpo", OneStep("infeasible"))
    assert mean[0] + 1.0 == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("name", always(["cpo", "ascpo"], "ascpo"))
@slow("trains for seconds")
def test_two_constraints_are_held_at_once(name):
    row, mean = climbed(name, OneStep("two"))
    assert (mean < 0.1).all()
    assert row["SafeRate"] > 0.7


WEAKER = ["cpo-cvar", "trpo-ipo"]
"""CPO-CVaR sees only the worst episodes, and TRPO-IPO has no multiplier that rises."""


WALKING = [name for name in [*BOUNDING, *PAYING] if name not in {"trpo-cvar", *WEAKER, *OF_THE_SPREAD}]


@slow("trains")
@pytest.mark.parametrize("name", some(WALKING))
def test_a_walker_stops_before_the_forbidden_part(name):
    """At full speed the walk ends at 3, but only up to 1 is free. The walker should get near 1 at almost no cost."""
    row, _ = climbed(name, Corridor())
    assert row["EpRet"] > 0.4
    assert row["EpMaxCost"] < 0.15


@pytest.mark.parametrize("name", some(WEAKER))
def test_weaker_methods_stop_a_walker_soon_after_the_limit(name):
    row, _ = climbed(name, Corridor())
    assert row["EpMaxCost"] < 0.4, "of 2 without any care"


@pytest.mark.parametrize("name", some(SHIELDED))
def test_a_shield_stops_a_walker_soon_after_the_limit(name):
    row, _ = climbed(name, Corridor())
    assert row["EpMaxCost"] < 1.0


@slow("compiles its own agent")
def test_the_multiplier_of_trpo_cvar_rises_too_slowly_for_a_short_training():
    row, _ = climbed("trpo-cvar", Corridor())
    assert row["Multiplier"] > 1
    assert row["EpMaxCost"] > 1


@slow("TRPO is compiled")
def test_a_walker_without_constraint_goes_all_the_way():
    row, _ = climbed("trpo", Corridor())
    assert row["EpRet"] > 2.0


@slow("compiles its own agent")
def test_a_generous_limit_leaves_the_reward_alone():
    """The step aims at the bound, whose limit is never near: so the walk goes all the way."""
    row, _ = climbed(ASCPO(mode="moment", target=TargetSettings("capped")), Corridor(), limits=(500.0,))
    assert row["EpRet"] > 2.0
    assert row["Case"] in {2, 3, 4}
