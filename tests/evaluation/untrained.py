"""Runs with an untrained policy: enough for an evaluation, and fast to make."""

import jax.numpy as jnp
import numpy as np

from ascpo.runs.config import configure
from ascpo.runs.directory import create
from ascpo.runs.environment import open_engine
from ascpo.runs.sealed import read_arrays, sealed_arrays
from ascpo.runs.source import Source
from ascpo.runs.trained_policy import policy_content
from ascpo.training.agent import agent_for
from tests.runs.helpers import CART, tiny


def untrained(out, *, env=CART, factory=None, algo="trpo", seed=0, shift=0.0, **settings):
    """A run's directory. `shift` is added to the policy's parameters, so that it acts otherwise.

    With a factory, the files name `env`, and nobody imports it.
    """
    config = configure(env, algo, seed=seed, total_steps=100, final_policy="last", **{**tiny(algo), **settings})
    directory = create(out, config)
    engine = open_engine(factory or env, 1)
    agent = agent_for(engine, config.algorithm(), config.settings)
    theta = agent.acting(agent.init(seed)) + shift
    content = policy_content(config.plain(), engine, jnp.asarray(theta), 1, Source("last", 1, 1))
    directory.policy.write_bytes(content)
    engine.close()
    return directory.path


def change_one_bit(run):
    """Make another policy of a run's policy, in one bit of its last parameter. Its checksum is updated."""
    file = run / "policy.safetensors"
    found = read_arrays(file)
    theta = found.arrays["theta"].copy()
    theta.view(np.uint32)[-1] ^= 1
    file.write_bytes(sealed_arrays(found.about, {**found.arrays, "theta": theta}))
