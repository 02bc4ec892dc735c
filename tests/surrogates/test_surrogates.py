"""Gradients against closed forms, on a policy that is a table: π(a) = softmax(θ), one state, episodes of one step.

There the true largest cost of an episode depends on the action alone, so that every expectation is a finite sum.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from ascpo.experience.cvar import CostTail
from ascpo.experience.trend import EpisodeSums, EpisodeTrend
from ascpo.surrogates.cost import ExpectedCost
from ascpo.surrogates.evidence import Evidence, centred, normalised
from ascpo.surrogates.maximum import (
    CantelliBound,
    ExpectedMaximum,
    MomentBound,
    PaperBound,
    ReferenceBound,
    ViolationProbability,
)
from ascpo.surrogates.reward import reward_loss
from ascpo.surrogates.weights import Weights
from tests.surrogates.helpers import statistics

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


def evidence(k=1, signal=D):
    """Of episodes of one step, whose critic expects the mean of the signal."""
    x, z = D[ACTIONS], signal[ACTIONS]
    E, square, share = jnp.sum(P * D), jnp.sum(P * D**2), jnp.sum(P * (D > 0))
    signals = jnp.stack([z - jnp.sum(P * signal), x**2 - square], axis=-1)[:, None, :k]
    episodes = statistics(
        count=float(len(x)), cost=E[None], max_cost=E[None], max_cost_squared=square[None], violation_rates=share[None]
    )
    return Evidence((x - E)[:, None], signals, signals, episodes)


def gradient(constraint, k=1, signal=D):
    """Of X in θ at the policy that acted."""
    some = evidence(k, signal)

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
    assert_allclose(gradient(ExpectedMaximum()), exact(mean), atol=2e-4)


def test_the_expected_cost_has_the_gradient_of_the_mean():
    assert_allclose(gradient(ExpectedCost()), exact(mean), atol=2e-4)


def test_the_moment_bound_has_the_gradient_of_mean_and_mean_square():
    assert_allclose(gradient(MomentBound(7.0), 2), exact(lambda p: mean(p) + 7 * square(p)), atol=2e-4)


def test_the_cantelli_bound_has_the_gradient_of_mean_and_deviation_while_violations_are_rare():
    kappa = 0.5
    p = kappa**2 / (1 + kappa**2)
    sigma = float(jnp.sqrt(square(P) - mean(P) ** 2))
    assert kappa * float(mean(P)) < sigma
    bound = lambda q: mean(q) + kappa * jnp.sqrt(square(q) - mean(q) ** 2)  # noqa: E731
    assert_allclose(gradient(CantelliBound(p), 2), exact(bound), atol=2e-4)


def test_the_gradient_of_the_cantelli_bound_never_makes_violations_more_certain():
    """Lowering the chance of the worst action must lower X, however common violations are."""
    step = -gradient(CantelliBound(0.98), 2)
    assert float(step[2]) < 0 < float(step[0])


def test_the_gradient_of_mean_plus_deviation_can_make_violations_more_certain():
    def bound(q):
        return mean(q) + 7 * jnp.sqrt(square(q) - mean(q) ** 2)

    often = jnp.array([-2.0, -2.0, 2.0])
    assert float(jax.grad(lambda theta: bound(jax.nn.softmax(theta)))(often)[2]) < 0


def test_the_paper_bound_with_true_weights_has_the_gradient_of_mean_and_residual_variance():
    """With ω₁ = 1, ω₂ = 0 the second term is E[ξ·δ²], δ held fixed."""
    delta = D - mean(P)
    expected = exact(lambda p: mean(p) + 7 * jnp.sum(p * delta**2))
    assert_allclose(gradient(PaperBound(7.0, 1.0, 0.0)), expected, atol=2e-4)


def test_the_reference_bound_gives_negative_td_errors_the_wrong_sign():
    """At ξ = 1 its weight is sign(δ)·δ² + 2ω₂|δ| up to ω₂, where E[ξ·δ²] has δ²."""
    delta, k, omega1, omega2 = D - mean(P), 7.0, 0.5, 0.01
    weight = jnp.sign(delta) * (delta**2 + 2 * omega2 * delta)
    expected = exact(lambda p: mean(p) + k * omega1 * jnp.sum(p * weight))
    assert_allclose(gradient(ReferenceBound(k, omega1, omega2)), expected, atol=1e-4)


def test_with_the_published_weights_the_variance_has_almost_no_effect():
    plain, published = gradient(ExpectedMaximum()), gradient(ReferenceBound(7.0, 0.005, 0.007))
    assert float(jnp.linalg.norm(published - plain) / jnp.linalg.norm(plain)) < 0.02


def test_offsets_are_the_bounds_minus_the_limit():
    w = jnp.array([0.02])
    E, S = float(mean(P)), float(square(P))
    sigma = (S - E**2) ** 0.5
    for constraint, bound, k in (
        (ExpectedMaximum(), E, 1),
        (ExpectedCost(), E, 1),
        (ReferenceBound(7.0, 0.005, 0.007), E, 1),
        (PaperBound(7.0, 0.005, 0.007), E + 7 * S, 1),
        (MomentBound(7.0), E + 7 * S, 2),
        (CantelliBound(0.98), E + 7 * sigma, 2),
    ):
        assert_allclose(constraint.offset(evidence(k), w), [bound - 0.02], rtol=1e-4)


def test_the_offset_of_the_violation_probability_is_measured_minus_allowed():
    offset = ViolationProbability(0.9).offset(evidence(), jnp.zeros(1))
    assert_allclose(offset, [float(P[1] + P[2]) - 0.1], rtol=1e-4)


CROSSES = (D > 0.2).astype(jnp.float32)
"""1 where an episode's largest cost crosses a limit of 0.2: of these actions, the last."""


def test_the_violation_probability_has_the_gradient_of_the_probability_of_violating_actions():
    """∂p₂/∂θ = p₂·(δᵢ₂ − pᵢ): raising the violating action's logit raises the probability of a violation."""
    p = np.asarray(P)
    found = gradient(ViolationProbability(0.9), signal=CROSSES)
    assert_allclose(found, p[2] * (np.array([0.0, 0.0, 1.0]) - p), atol=2e-4)
    assert found[2] > 0 > found[0]


@pytest.mark.parametrize("constraint", [ExpectedMaximum(), ExpectedCost(), ViolationProbability(0.9)])
def test_a_surrogate_is_a_mean_of_ratio_times_advantage(constraint):
    """Only the last action, three times as often: X = p₂ · 3 · A₂, which is not zero."""
    ratio = jnp.where(ACTIONS == 2, 3.0, 0.0)[:, None]
    A = float(D[2] - mean(P))
    assert_allclose(constraint.surrogate(evidence(), Weights(ratio)), [3.0 * float(P[2]) * A], rtol=1e-3)


@pytest.mark.parametrize(
    ("constraint", "k"),
    [
        (ExpectedMaximum(), 1),
        (ExpectedCost(), 1),
        (ReferenceBound(7.0, 0.005, 0.007), 1),
        (PaperBound(7.0, 0.005, 0.007), 1),
        (MomentBound(7.0), 2),
        (CantelliBound(0.98), 2),
        (ViolationProbability(0.98), 1),
    ],
    ids=lambda part: type(part).__name__,
)
def test_every_bound_falls_when_the_worst_action_becomes_less_likely(constraint, k):
    slope = gradient(constraint, k)
    assert float(slope[2]) > 0 > float(slope[0])


def test_bounds_are_equal_by_value():
    assert PaperBound(7.0, 0.1, 0.2) == PaperBound(7.0, 0.1, 0.2)
    assert hash(PaperBound(7.0, 0.1, 0.2)) == hash(PaperBound(7.0, 0.1, 0.2))
    assert PaperBound(7.0, 0.1, 0.2) != ReferenceBound(7.0, 0.1, 0.2)


def test_the_reward_surrogate_has_the_gradient_of_the_mean():
    some = evidence()
    loss = lambda theta: reward_loss(some, Weights((jax.nn.softmax(theta) / P)[ACTIONS][:, None]))  # noqa: E731
    assert_allclose(jax.grad(loss)(THETA), -exact(mean), atol=2e-4)


def test_advantages_are_normalised_and_equal_ones_vanish():
    x = jnp.array([[1.0, 2.0], [3.0, 6.0]])
    assert_allclose(jnp.std(normalised(x)), 1.0, rtol=1e-5)
    assert_allclose(jnp.mean(centred(x[..., None])), 0.0, atol=1e-6)
    assert_allclose(normalised(jnp.full((2, 2), 5.0)), 0.0)


def test_omega2_of_the_paper_bound_weighs_twice_the_absolute_td_error():
    """X = Σ ξ·A + k·ω₁·Σ (ξ−1)·(δ² + 2·ω₂·|δ|), on two steps of one episode that are written down."""
    A, delta, xi = jnp.array([[[0.5]], [[-0.25]]]), jnp.array([[[0.3]], [[-0.4]]]), jnp.array([[1.5], [0.5]])
    some = Evidence(jnp.zeros((2, 1)), A, delta, statistics(1))
    change = 0.5 * (0.09 + 2 * 0.2 * 0.3) - 0.5 * (0.16 + 2 * 0.2 * 0.4)
    assert_allclose(PaperBound(7.0, 0.1, 0.2).surrogate(some, Weights(xi)), [0.75 - 0.125 + 0.7 * change], rtol=1e-5)


def test_the_reference_bound_centres_td_errors_and_takes_absolute_values():
    """δ − mean is ±0.35: X = Σ ξ·A + k·ω₁·Σ |(ξ−1)·δ² + 2·ξ·δ·ω₂|."""
    A, delta, xi = jnp.array([[[0.5]], [[-0.25]]]), jnp.array([[[0.3]], [[-0.4]]]), jnp.array([[1.5], [0.5]])
    some = Evidence(jnp.zeros((2, 1)), A, delta, statistics(1))
    sizes = abs(0.5 * 0.35**2 + 2 * 1.5 * 0.35 * 0.2) + abs(-0.5 * 0.35**2 - 2 * 0.5 * 0.35 * 0.2)
    expected = [0.75 - 0.125 + 0.7 * sizes]
    assert_allclose(ReferenceBound(7.0, 0.1, 0.2).surrogate(some, Weights(xi)), expected, rtol=1e-5)


def test_a_standard_deviation_of_zero_gives_no_division_by_zero():
    """All episodes cost 0.4: σ counts as 10⁻⁶, A has no weight and A₂ a finite one."""
    some = Evidence(
        jnp.zeros((1, 1)),
        jnp.array([[[1.0, 2e-6]]]),
        jnp.zeros((1, 1, 2)),
        statistics(1, max_cost=[0.4], max_cost_squared=[0.16]),
    )
    assert_allclose(CantelliBound(0.5).surrogate(some, Weights(jnp.ones((1, 1)))), [1.0], rtol=1e-4)


def test_bounds_sum_over_episodes_and_expected_costs_average_over_steps():
    """Three steps in two episodes of mean length 1.5 and mean cost 0.7."""
    A = jnp.array([[[1.0]], [[2.0]], [[6.0]]])
    some = Evidence(jnp.zeros((3, 1)), A, A, statistics(1, count=2.0, cost=[0.7], length=1.5))
    as_it_was = Weights(jnp.ones((3, 1)))
    assert_allclose(ExpectedMaximum().surrogate(some, as_it_was), [4.5])
    assert_allclose(ExpectedCost().surrogate(some, as_it_was), [3.0])
    assert_allclose(ExpectedCost().offset(some, jnp.array([0.1])), [0.6 / 1.5], rtol=1e-5)


def test_episodes_are_at_least_one_step_long():
    some = Evidence(
        jnp.zeros((1, 1)), jnp.zeros((1, 1, 1)), jnp.zeros((1, 1, 1)), statistics(1, cost=[2.0], length=0.5)
    )
    assert_allclose(ExpectedCost().offset(some, jnp.zeros(1)), [2.0])


def test_advantages_that_differ_by_rounding_alone_vanish_and_small_ones_do_not():
    assert_allclose(normalised(jnp.array([[0.0, 1e-9]])), 0.0)
    assert_allclose(normalised(jnp.array([[0.0, 1e-6]])), [[-1.0, 1.0]], rtol=1e-4)


def of_two(**episodes):
    """Evidence of two constraints, from the statistics of its episodes alone."""
    nothing = jnp.zeros((1, 1, 4))
    return Evidence(jnp.zeros((1, 1)), nothing, nothing, statistics(2, **episodes))


def test_several_constraints_share_the_allowed_probability_of_violation():
    """Of 1 − p = 0.1 each of two gets 0.05: as a probability, and as κ = √(0.95/0.05)."""
    some = of_two(violation_rates=[0.2, 0.01], max_cost=[0.1, 0.2], max_cost_squared=[0.02, 0.05])
    assert_allclose(ViolationProbability(0.9).offset(some, jnp.zeros(2)), [0.15, -0.04], atol=1e-6)
    kappa = np.sqrt(0.95 / 0.05)
    expected = np.array([0.1, 0.2]) + kappa * np.array([0.1, 0.1])
    assert_allclose(CantelliBound(0.9).offset(some, jnp.zeros(2)), expected, rtol=1e-4)


def test_relative_excess_is_a_multiple_of_the_limit_and_infinite_for_zero():
    some = of_two(cost=[30.0, 3.0], max_cost=[0.3, 0.1], max_cost_squared=[0.09, 0.01])
    assert_allclose(ExpectedCost().relative_excess(some, jnp.array([25.0, 0.0])), [0.2, np.inf], rtol=1e-5)
    for constraint in (ExpectedMaximum(), ReferenceBound(7.0, 0.1, 0.2)):
        assert_allclose(constraint.relative_excess(some, jnp.array([0.2, 0.2])), [0.5, -0.5], rtol=1e-5)
    for constraint in (MomentBound(2.0), PaperBound(2.0, 0.1, 0.2)):
        assert_allclose(constraint.relative_excess(some, jnp.array([0.4, 0.4])), [0.2, -0.7], rtol=1e-5)
    assert_allclose(CantelliBound(0.9).relative_excess(some, jnp.array([0.2, 0.2])), [0.5, -0.5], rtol=1e-3)
    assert_allclose(ViolationProbability(0.9).relative_excess(some, jnp.ones(2)), [np.inf, np.inf])


def test_multipliers_and_targets_use_statistics_of_the_last_epochs():
    """Two episodes of two steps in the trend, whatever this epoch's episodes say."""
    sums = EpisodeSums(
        steps=jnp.float32(4),
        ended=jnp.float32(2),
        cost=jnp.array([3.0, 1.0]),
        max_cost=jnp.array([1.0, 0.5]),
        max_cost_squared=jnp.array([0.6, 0.2]),
        violations=jnp.array([1.0, 0.0]),
        timeouts=jnp.float32(1),
        excess=jnp.array([0.8, 0.0]),
        nu=jnp.array([4.0, 8.0]),
    )
    tail = CostTail(jnp.zeros(2), jnp.ones(2), jnp.array([7.0, 7.0]))
    some = replace(of_two(cost=[9.0, 9.0]), trend=EpisodeTrend(sums, jnp.float32(100)), cost_tail=tail)
    late = some.of_last_epochs()
    assert_allclose(late.episodes.cost, [1.5, 0.5])
    assert_allclose(late.episodes.max_cost, [0.5, 0.25])
    assert_allclose(late.episodes.max_cost_squared, [0.3, 0.1], rtol=1e-6)
    assert_allclose(late.episodes.violation_rates, [0.5, 0.0])
    assert_allclose([late.episodes.length, late.episodes.timeout_rate], [2.0, 0.5])
    assert_allclose(late.cost_tail.cvar(0.5), [1.0 + 0.4 / 0.5, 2.0])
    assert_allclose(late.cost_tail.quantile, [7.0, 7.0])
    with pytest.raises(ValueError, match="trend"):
        of_two().of_last_epochs()
