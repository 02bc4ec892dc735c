"""CVaR as a constraint. Episodes of one step, whose cost is the action's: five cost nothing, three 1, two 4."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from ascpo.algorithms import CPOCVaR
from ascpo.errors import BadSetting
from ascpo.experience.cvar import cost_tail
from ascpo.ranges import check
from ascpo.surrogates.cvar import CVaR
from ascpo.surrogates.settings import worst_episodes
from ascpo.surrogates.weights import Weights
from tests.surrogates.helpers import evidence

COSTS = jnp.array([0.0, 1.0, 4.0])
P = jnp.array([0.5, 0.3, 0.2])
ACTIONS = np.repeat([0, 1, 2], [5, 3, 2])
Z = COSTS[ACTIONS][:, None, None]
NU = jnp.array([1.0])
ALPHA = 0.6


def seen():
    excess = jnp.maximum(Z - NU, 0.0)
    tail = cost_tail(Z, jnp.ones((10, 1), bool), NU, ALPHA)
    return evidence(excess - jnp.mean(excess), count=10.0, cost_tail=tail)


def test_the_offset_is_the_cvar_minus_the_limit():
    """The worst four of ten cost 4, 4, 1 and 1."""
    assert_allclose(CVaR(ALPHA).offset(seen(), jnp.array([0.5])), [2.5 - 0.5], rtol=1e-6)


def test_the_surrogate_has_the_gradient_of_the_cvar():
    """Of ν + E[(Z − ν)₊]/(1 − α) in the logits; ν is the best, so that its own change does not matter."""

    def surrogate(theta):
        ratio = (jax.nn.softmax(theta) / P)[ACTIONS][:, None]
        return CVaR(ALPHA).surrogate(seen(), Weights(ratio))[0]

    def cvar(theta):
        return NU[0] + jnp.sum(jax.nn.softmax(theta) * jnp.maximum(COSTS - NU, 0.0)) / (1.0 - ALPHA)

    assert_allclose(jax.grad(surrogate)(jnp.log(P)), jax.grad(cvar)(jnp.log(P)), rtol=1e-5, atol=1e-6)


def test_the_surrogate_sums_over_an_episode_and_divides_by_one_minus_alpha():
    """Two episodes of two steps: (2·1 + 1·3 + 1·0 + 1·2)/2, over 1 − ¾; the second signal is twice the first."""
    A = jnp.array([[1.0, 0.0], [3.0, 2.0]])
    X = CVaR(0.75).surrogate(
        evidence(jnp.stack([A, 2 * A], axis=-1), count=2.0), Weights(jnp.array([[2.0, 1.0], [1.0, 1.0]]))
    )
    assert_allclose(X, [3.5 / 0.25, 7.0 / 0.25])


def test_cvar_without_a_cost_tail_is_an_error():
    with pytest.raises(ValueError, match="tail"):
        CVaR(ALPHA).offset(evidence([[[1.0]]]), jnp.zeros(1))


def test_the_description_of_cvar_is_in_percent():
    assert worst_episodes(0.9) == "the mean cost of the worst 10 % of the episodes"


@pytest.mark.parametrize(("alpha", "allowed"), [(-0.1, False), (0.0, True), (0.999, True), (1.0, False)])
def test_alpha_must_be_a_share_below_one(alpha, allowed):
    with contextlib.nullcontext() if allowed else pytest.raises(BadSetting, match="alpha="):
        check(CPOCVaR(alpha))
