"""Environments in processes that Gymnasium forks."""

import gymnasium
import pytest

import ascpo
from ascpo.environments.forking import ForkedFromJax


def test_an_environment_forked_after_jax_started_raises_an_error_instead_of_hanging():
    ascpo.make("Point-1-Hazard").reset(seed=0)
    with pytest.warns(RuntimeWarning, match="fork"):
        envs = gymnasium.make_vec(
            "ascpo/Point-1-Hazard-v0", num_envs=1, vectorization_mode="async", vector_kwargs={"context": "fork"}
        )
    try:
        with pytest.raises(ForkedFromJax, match="spawn"):
            envs.reset(seed=0)
    finally:
        envs.close(terminate=True)
