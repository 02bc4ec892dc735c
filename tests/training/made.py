"""Agents, rollouts and metrics that are small enough to be worked out by hand."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from ascpo.algorithms import ALGORITHMS
from ascpo.engines.contract import Rollout
from ascpo.networks.settings import CostFitSettings, FitSettings
from ascpo.training.agent import Agent
from ascpo.training.settings import Settings
from ascpo.training.state import Sizes
from ascpo.trust_region.settings import TrustRegion

TIME, ENVS, OBS, ACT = 7, 3, 2, 2
NAMES = ("left", "right")
LIMITS = (0.1, 0.3)


def agent_of(algorithm, sizes=None, limits=LIMITS, **settings):
    """An agent of two constraints with networks of one small layer."""
    built = ALGORITHMS[algorithm]().build(0.98) if isinstance(algorithm, str) else algorithm.build(0.98)
    if built.shield:
        built = replace(built, shield=replace(built.shield, fit=FitSettings(2, 8)))
    of_costs = {"cost_fit": CostFitSettings(2, 8, window=2)} if built.cost_critics else {}
    # Half of the batch would have a program of its own.
    region = {"trust_region": TrustRegion(signal_every=0)} if built.constraint else {}
    usual = {"num_envs": ENVS, "horizon": TIME, "hidden": (4,), "limits": limits, "value_fit": FitSettings(2, 8)}
    return Agent(
        built,
        Settings(**(usual | of_costs | region | settings)),
        sizes or Sizes(ENVS, OBS, ACT, len(limits)),
        tuple(limits),
    )


def rollout_of(agent, seed=0, time=TIME, **given):
    """Random steps of which a fifth ends an episode, one way or the other."""
    rng, envs, m = np.random.default_rng(seed), agent.sizes.num_envs, agent.sizes.m

    def normal(*rest):
        return rng.normal(size=(time, envs, *rest)).astype(np.float32)

    terminated = rng.random((time, envs)) < 0.2
    plain = {
        "observation": normal(agent.observation_size),
        "next_observation": normal(agent.observation_size),
        "action": normal(agent.sizes.action),
        "reward": normal(),
        "cost": np.maximum(normal(m), 0.0),
        "terminated": terminated,
        "truncated": (rng.random((time, envs)) < 0.2) & ~terminated,
        "taken": normal(agent.sizes.action) if agent.algorithm.shield else None,
    }
    return jax.tree.map(jnp.asarray, Rollout(**(plain | given)))
