"""Every setting of every algorithm changes something that can be observed, or is refused with a message.

What is observed: the networks that training starts with, how they act, and the programs of an epoch. Programs are
traced and compared as text with their constants, which takes no compilation.
"""

import functools
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ascpo.algorithms import ALGORITHMS
from ascpo.engines.contract import Rollout
from ascpo.engines.replay import Scene
from ascpo.errors import BadSetting, InertSetting
from ascpo.runs.config import configure
from ascpo.runs.serialization import flat, to_plain
from ascpo.training import agent as agents
from ascpo.training.agent import Agent
from ascpo.training.estimate import estimate
from ascpo.training.fit import fit_critics
from ascpo.training.settings import Settings
from ascpo.training.state import Sizes
from ascpo.training.update import update
from tests.slow import LONG, slow

pytestmark = pytest.mark.usefixtures("unchecked_shapes")
NAMES = ("left", "right")
SMALL = {"num_envs": 3, "horizon": 6, "hidden": (4, 4)}
KEYS = [jax.random.key(i) for i in range(3)]
SEEN_ELSEWHERE = ("value_fit.", "cost_fit.", "trust_region.", "target.", "replay.")
"""Groups whose settings have tests of their own; in the long run they are tried here too."""
IN_THE_LOOP = ("carry",)
"""Read by the loop itself: tests/training/test_trouble.py trains with it."""
JUDGED_BY = ("probability",)
"""For algorithms that do not go by it, what the report holds the episodes against."""
OTHER = {
    "mode": "paper",
    "signal": "sum",
    "ascent": "cost",
    "target.kind": "capped",
    "projection.nearest": "parameters",
    "cost_fit.balance": "subsample",
    "limits": (0.5,),
    "hidden": (5, 5),
    "cost_gae_lambda": 0.5,
    "output_bias": None,
    "probability": 0.9,
    "near_miss_end": 0.01,
    "average_epochs": 3,
    "target.timeout_limit": 0.01,
}
"""Values that a rule would not find."""
NEEDS = {name: {"mode": "paper"} for name in ("k", "omega1", "omega2")}
NEEDS |= {name: {"mode": "chernoff", "near_miss": 0.2} for name in ("tau", "cap", "union_bound")}
NEEDS |= {"margin": {"limits": (0.5,)}, "near_miss_end": {"near_miss": 0.2}}
NEEDS["signal"] = {"ascent": "cost"}
NEEDS["replay.pool"] = {"replay": {"share": 0.25}}
NEEDS["target.half_signal"] = {"trust_region": {"signal_every": 10}}
"""Settings that act with certain others."""


def leaves(dataclass):
    """The settings of a group, by their names on the command line."""
    return flat(to_plain(dataclass()))


def other(name, value):
    """Another value than the default."""
    if name in OTHER:
        return OTHER[name] if OTHER[name] != value else "reference"
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else value * 0.5 if value else 0.125


def nested(name, value):
    *groups, last = name.split(".")
    return functools.reduce(lambda inside, group: {group: inside}, reversed(groups), {last: value})


def agent_with(algo, chosen):
    """Unless that is chosen, it measures no signal: programs are smaller."""
    quiet = {"trust_region": {"signal_every": 0}} if ALGORITHMS[algo]().build(0.98).constraint else {}
    config = configure("corridor", algo, **(quiet | chosen))
    settings = config.settings
    sizes = Sizes(settings.num_envs, 2, 2, len(NAMES), margins=True)
    return Agent(config.algorithm(), settings, sizes, settings.limits_for(NAMES))


def program(function, *args):
    """The text of a program, and its constants."""
    traced = jax.make_jaxpr(function)(*args)
    return str(traced), list(constants(traced))


def constants(traced):
    for value in traced.consts:
        yield np.asarray(value).tobytes()
    for equation in traced.jaxpr.eqns:
        for inner in jax.tree.leaves(equation.params, is_leaf=lambda part: hasattr(part, "consts")):
            if hasattr(inner, "consts"):
                yield from constants(inner)


def starting(agent):
    """The networks that training starts with, and the shapes of its state."""
    params, _ = eqx.partition(agent._networks(*KEYS), eqx.is_inexact_array)
    lam = agent.multiplier
    multiplier = lam.init(agent.observation_size, agent.sizes.m, agent.settings.hidden, KEYS[0]) if lam else None
    warm_up = int(np.ceil(30 * agent.algorithm.shield.warm_up)) if agent.algorithm.shield else 0
    theta = jax.ShapeDtypeStruct((agent.actor.networks.policy_size,), jnp.float32)
    near = agent._near_miss(epochs=30)
    state = jax.eval_shape(
        lambda key, theta: agents._init(agent, key, theta, params._replace(policy=None), multiplier, warm_up, near),
        KEYS[0],
        theta,
    )
    noise = jax.eval_shape(agent.noise, state)[1]
    arrays = [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves((params, near))]
    return state, [warm_up, str(state), str(noise), *arrays]


def acting(agent, state, rollout, estimates):
    theta = jax.eval_shape(agent.acting, state)
    return program(agent.actor.decide, theta, jnp.zeros(agent.observation_size), jnp.zeros(2))


def estimating(agent, state, rollout, estimates):
    return program(functools.partial(estimate, agent), state, rollout)


def updating(agent, state, rollout, estimates):
    return program(functools.partial(update, agent), state, rollout, estimates)


def fitting(agent, state, rollout, estimates):
    return program(functools.partial(fit_critics, agent), state, estimates)


PROGRAMS = (acting, estimating, updating, fitting)


def likely(name):
    """The programs of an epoch, that one first in which a setting is likely to be seen."""
    first = fitting if "fit." in name else estimating if "lambda" in name or name == "discount" else updating
    return sorted(PROGRAMS, key=lambda observed: observed is not first)


def rollout_of(agent):
    def shape(*rest, dtype=jnp.float32):
        return jax.ShapeDtypeStruct((agent.settings.horizon, agent.settings.num_envs, *rest), dtype)

    observation, action, flag = shape(agent.observation_size), shape(2), shape(dtype=bool)
    taken = action if agent.algorithm.shield else None
    number = shape(dtype=jnp.int32)
    scene = Scene(number, number, number) if agent.settings.replay.share else None
    return Rollout(observation, observation, action, shape(), shape(2), flag, flag, taken, shape(2), scene)


@functools.cache
def usual(algo, needs):
    """The agent with usual settings, and the shapes of its epochs."""
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in json.loads(needs).items()}
    agent = agent_with(algo, {**SMALL, **given})
    state, start = starting(agent)
    rollout = rollout_of(agent)
    return agent, start, (state, rollout, jax.eval_shape(functools.partial(estimate, agent), state, rollout))


@functools.cache
def usually(observed, algo, needs):
    agent, _, shapes = usual(algo, needs)
    return observed(agent, *shapes)


def cases():
    """With ASCPO most settings are tried always. In the long run it is all of them, with all algorithms."""
    for algo, kind in ALGORITHMS.items():
        if algo != "ascpo" and not LONG:
            continue
        for name, value in {**leaves(Settings), **leaves(kind)}.items():
            if name not in IN_THE_LOOP and (name not in JUDGED_BY or kind().build(0.98).target is not None):
                marks = [slow("runs only in the long tests")] if name.startswith(SEEN_ELSEWHERE) else []
                yield pytest.param(algo, name, value, id=f"{algo}-{name}", marks=marks)


@pytest.mark.parametrize(("algo", "name", "value"), list(cases()))
def test_a_setting_changes_something_or_is_refused(algo, name, value):
    known = ALGORITHMS[algo].__dataclass_fields__ | Settings.__dataclass_fields__
    needs = {k: v for k, v in NEEDS.get(name, {}).items() if k in known}
    chosen = SMALL | needs
    for group, inside in nested(name, other(name, value)).items():
        chosen[group] = chosen.get(group, {}) | inside if isinstance(inside, dict) else inside
    try:
        changed = agent_with(algo, chosen)
    except ValueError as refused:
        if "changes nothing" not in str(refused):
            raise
        return
    _, start, shapes = usual(algo, json.dumps(needs))
    assert starting(changed)[1] != start or any(
        observed(changed, *shapes) != usually(observed, algo, json.dumps(needs)) for observed in likely(name)
    )


def test_a_setting_that_affects_only_other_algorithms_is_refused_with_the_reason():
    for algo, name, value, why in (
        ("trpo", "cost_fit", {"window": 3}, r"cost_fit\.window=3 changes nothing: trpo has no cost critics"),
        ("trpo", "replay", {"share": 0.25}, "trpo has no cost critics"),
        ("trpo", "margin", 0.1, "trpo does nothing about costs"),
        ("cpo", "output_bias", None, "predict sums of either sign"),
        ("trpo-cvar", "near_miss", 0.1, "the value at risk of trpo-cvar is that of the costs themselves"),
        ("cpo-cvar", "near_miss", 0.1, "the value at risk of cpo-cvar is that of the costs themselves"),
        ("pascpo", "trust_region", {"damping": 0.5}, r"trust_region\.damping=0\.5 .* descends by Adam"),
        ("trpo", "trust_region", {"signal_every": 5}, r"trust_region\.signal_every=5 .* constraints, and trpo has"),
        ("trpo", "trust_region", {"tolerance": 0.1}, r"trust_region\.tolerance=0\.1 .* constraints, and trpo has"),
        ("pcpo", "trust_region", {"tolerance": 0.1}, r"trust_region\.tolerance=0\.1 .* pcpo projects its steps"),
        ("ascpo", "target", {"kind": "capped", "half_signal": 0.1}, "aims at the bound"),
        ("ascpo", "k", 3.0, "mode chance does not use it"),
        ("pascpo", "ppo", {"clip_costs": False, "optimistic_costs": True}, "costs are not clipped"),
    ):
        with pytest.raises(InertSetting, match=why):
            configure("corridor", algo, **{name: value})


def test_pascpo_refuses_a_penalty_on_the_sum_with_ascent_on_the_largest_cost():
    for chosen in ({"signal": "sum"}, {"preset": "released", "ascent": "bound"}):
        with pytest.raises(BadSetting, match="Use ascent=cost with signal=sum, or leave signal=largest"):
            configure("corridor", "pascpo", **chosen)
    for chosen in ({"signal": "sum", "ascent": "cost"}, {"preset": "released"}, {"ascent": "cost"}):
        configure("corridor", "pascpo", **chosen)


def test_half_signal_needs_a_measured_signal():
    with pytest.raises(BadSetting, match=r"target\.half_signal=0\.1 needs a signal, and num_envs=1 measures none"):
        configure("corridor", "ascpo", target={"half_signal": 0.1}, num_envs=1)
    with pytest.raises(InertSetting, match=r"target\.half_signal=0\.1 changes nothing: trust_region\.signal_every=0"):
        configure("corridor", "ascpo", target={"half_signal": 0.1}, trust_region={"signal_every": 0})
    for algo in ("ascpo", "trpo"):
        configure("corridor", algo, trust_region={"delta": 0.01})
