"""Gradients against closed forms, on a policy that is a table: π(a) = softmax(θ), one state, episodes of one step.

There the true largest cost of an episode depends on the action alone, so that every expectation is a finite sum.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from ascpo.experience.episodes import Summary
from ascpo.surrogates.cost import EXPECTED_COST
from ascpo.surrogates.evidence import Evidence, Weights, centred, normalised
from ascpo.surrogates.maximum import (
    cantelli_bound,
    chance,
    expected_maximum,
    moment_bound,
    paper_bound,
    reference_bound,
)
from ascpo.surrogates.reward import loss_of_reward

D = jnp.array([0.0, 0.1, 0.4])
"""The largest cost of each action's episode."""
THETA = jnp.array([1.2, 0.1, -0.4])
P = jax.nn.softmax(THETA)
N = 120_000


def samples():
    """Every action as often as its probability says, so that sample means are expectations."""
    counts = np.round(np.asarray(P) * N).astype(int)
    return jnp.asarray(np.repeat(np.arange(3), counts))


ACTIONS = samples()


def evidence(k=1):
    x = D[ACTIONS]
    E, square = jnp.sum(P * D), jnp.sum(P * D**2)
    signals = jnp.stack([x - E, x**2 - square], axis=-1)[:, None, :k]
    one = jnp.ones(())
    share = jnp.sum(P * (D > 0))
    episodes = Summary(
        finished=jnp.array(len(x)),
        count=one * len(x),
        reward=one,
        cost=E[None],
        maximum=E[None],
        square=square[None],
        length=one,
        exceeding=share[None],
        violating=share,
        time_limited=one * 0,
        quantiles=jnp.tile(E, (5, 1)),
    )
    return Evidence((x - E)[:, None], signals, signals, episodes)


def gradient(constraint, k=1):
    """Of X in θ at the policy that acted."""
    some = evidence(k)

    def surrogate(theta):
        ratio = (jax.nn.softmax(theta) / P)[ACTIONS][:, None]
        return constraint.surrogate(some, Weights(ratio))[0]

    return jax.grad(surrogate)(THETA)


def exact(functional):
    """Gradient of a functional of the action probabilities."""
    return jax.grad(lambda theta: functional(jax.nn.softmax(theta)))(THETA)


def mean(p):
    return jnp.sum(p * D)


def square(p):
    return jnp.sum(p * D**2)


def test_the_expected_maximum_has_the_gradient_of_the_mean():
    assert_allclose(gradient(expected_maximum()), exact(mean), atol=2e-4)


def test_the_expected_cost_has_the_gradient_of_the_mean():
    assert_allclose(gradient(EXPECTED_COST), exact(mean), atol=2e-4)


def test_the_moment_bound_has_the_gradient_of_mean_and_mean_square():
    assert_allclose(gradient(moment_bound(7.0), 2), exact(lambda p: mean(p) + 7 * square(p)), atol=2e-4)


def test_the_cantelli_bound_has_the_gradient_of_mean_and_deviation_while_violations_are_rare():
    kappa = 0.5
    p = kappa**2 / (1 + kappa**2)
    sigma = float(jnp.sqrt(square(P) - mean(P) ** 2))
    assert kappa * float(mean(P)) < sigma
    bound = lambda q: mean(q) + kappa * jnp.sqrt(square(q) - mean(q) ** 2)  # noqa: E731
    assert_allclose(gradient(cantelli_bound(p), 2), exact(bound), atol=2e-4)


def test_the_cantelli_bound_never_asks_for_more_certain_violations():
    """Lowering the chance of the worst action must lower X, however common violations are."""
    step = -gradient(cantelli_bound(0.98), 2)
    assert float(step[2]) < 0 < float(step[0])


def test_mean_and_deviation_alone_would_ask_for_them():
    def bound(q):
        return mean(q) + 7 * jnp.sqrt(square(q) - mean(q) ** 2)

    often = jnp.array([-2.0, -2.0, 2.0])
    assert float(jax.grad(lambda theta: bound(jax.nn.softmax(theta)))(often)[2]) < 0


def test_the_paper_bound_with_true_weights_has_the_gradient_of_mean_and_variance_of_its_residuals():
    """With ω₁ = 1, ω₂ = 0 the second term is E[ξ·δ²], δ held fixed."""
    delta = D - mean(P)
    expected = exact(lambda p: mean(p) + 7 * jnp.sum(p * delta**2))
    assert_allclose(gradient(paper_bound(7.0, 1.0, 0.0)), expected, atol=2e-4)


def test_the_reference_bound_credits_surprises_below_zero_with_the_wrong_sign():
    """At ξ = 1 its weight is sign(δ)·δ² + 2ω₂|δ| up to ω₂, where E[ξ·δ²] has δ²."""
    delta, k, omega1, omega2 = D - mean(P), 7.0, 0.5, 0.01
    weight = jnp.sign(delta) * (delta**2 + 2 * omega2 * delta)
    expected = exact(lambda p: mean(p) + k * omega1 * jnp.sum(p * weight))
    assert_allclose(gradient(reference_bound(k, omega1, omega2)), expected, atol=1e-4)


def test_published_weights_leave_almost_nothing_of_the_variance():
    plain, published = gradient(expected_maximum()), gradient(reference_bound(7.0, 0.005, 0.007))
    assert float(jnp.linalg.norm(published - plain) / jnp.linalg.norm(plain)) < 0.02


def test_offsets_are_the_bounds_less_the_limit():
    w = jnp.array([0.02])
    E, S = float(mean(P)), float(square(P))
    sigma = (S - E**2) ** 0.5
    for constraint, bound, k in (
        (expected_maximum(), E, 1),
        (EXPECTED_COST, E, 1),
        (reference_bound(7.0, 0.005, 0.007), E, 1),
        (paper_bound(7.0, 0.005, 0.007), E + 7 * S, 1),
        (moment_bound(7.0), E + 7 * S, 2),
        (cantelli_bound(0.98), E + 7 * sigma, 2),
    ):
        assert_allclose(constraint.offset(evidence(k), w), [bound - 0.02], rtol=1e-4)


def test_the_chance_of_a_violation_is_held_against_what_is_allowed():
    offset = chance(0.9).offset(evidence(), jnp.zeros(1))
    assert_allclose(offset, [float(P[1] + P[2]) - 0.1], rtol=1e-4)


@pytest.mark.parametrize("constraint", [expected_maximum(), EXPECTED_COST, chance(0.9)])
def test_a_surrogate_is_a_mean_of_ratio_times_advantage(constraint):
    doubled = Weights(jnp.full((len(ACTIONS), 1), 2.0))
    assert_allclose(constraint.surrogate(evidence(), doubled), 2 * jnp.mean(D[ACTIONS] - mean(P)), atol=2e-4)


def test_the_reward_surrogate_has_the_gradient_of_the_mean():
    some = evidence()
    loss = lambda theta: loss_of_reward(some, Weights((jax.nn.softmax(theta) / P)[ACTIONS][:, None]))  # noqa: E731
    assert_allclose(jax.grad(loss)(THETA), -exact(mean), atol=2e-4)


def test_advantages_are_normalised_and_equal_ones_vanish():
    x = jnp.array([[1.0, 2.0], [3.0, 6.0]])
    assert_allclose(jnp.std(normalised(x)), 1.0, rtol=1e-5)
    assert_allclose(jnp.mean(centred(x[..., None])), 0.0, atol=1e-6)
    assert_allclose(normalised(jnp.full((2, 2), 5.0)), 0.0)
