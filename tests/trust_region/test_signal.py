"""The signal of a gradient, against NumPy, on problems whose true gradient and noise are known."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.trust_region.constrained import ConstrainedStep
from ascpo.trust_region.line_search import Evaluation
from ascpo.trust_region.projected import ProjectedStep
from ascpo.trust_region.settings import TrustRegion
from ascpo.trust_region.signal import SignalTrend, SubBatch, measure, no_signal, ratio
from ascpo.trust_region.step import Problem
from tests.slow import always

P = 600
F = np.repeat([0.5, 1.0, 4.0], P // 3)
"""A diagonal with three values: three iterations of conjugate gradients solve exactly."""
BATCHES = 1000
SHARE = 0.4


@partial(jax.jit, static_argnames=("share", "iterations"))
def _signals(first, second, diagonal, share, iterations):
    """Of many batches, each with one constraint: gradients b₁ and b₂ of parts with this share and the rest."""

    def one(b1, b2):
        b = share * b1 + (1.0 - share) * b2
        sub_batch = SubBatch(lambda theta: share * (b1 @ theta)[None], share, jnp.array(True))
        return measure(sub_batch, jnp.zeros(P), lambda v: diagonal * v, b[None], (b / diagonal)[None], iterations)[0]

    return jax.lax.map(lambda pair: one(*pair), (first, second))


def signals(b1, b2, share=SHARE, iterations=10):
    numbers = [jnp.asarray(v, jnp.float32) for v in (b1, b2, F)]
    return np.asarray(_signals(*numbers, share, iterations), float)


def noisy(beta, spread, share=SHARE, seed=0):
    """Gradients of both parts. The noise of coordinate i has the variance spreadᵢ²/w in a part of share w."""
    z1, z2 = np.random.default_rng(seed).normal(size=(2, BATCHES, P))
    return beta + spread * z1 / np.sqrt(share), beta + spread * z2 / np.sqrt(1 - share)


SPREAD = np.linspace(0.5, 1.5, P)
BETA = 0.7 * np.cos(np.arange(P))
WHOLE = np.sum(SPREAD**2 / F)
"""tr(F⁻¹Σ), Σ the covariance of the whole batch's gradient: its variances are w₁²·spread²/w₁ + w₂²·spread²/w₂."""
TRUE = np.sum(BETA**2 / F)
"""βᵀF⁻¹β."""


def test_the_signal_is_the_agreement_of_the_parts_over_the_predicted_decrease():
    b1, b2 = (each[:50] for each in noisy(BETA, SPREAD))
    b = SHARE * b1 + (1 - SHARE) * b2
    expected = np.sum(b1 / F * b2, axis=1) / np.sum(b / F * b, axis=1)
    assert_allclose(signals(b1, b2), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("size", [0.5, 1.0, 3.0])
def test_the_mean_signal_is_the_real_share_of_the_predicted_decrease(size):
    """βᵀF⁻¹β / (βᵀF⁻¹β + tr(F⁻¹Σ)), and as much of the fall that b predicts is one of β. It is the mean cos², too."""
    found = signals(*noisy(size * BETA, SPREAD)).mean()
    true = size**2 * TRUE
    assert found == pytest.approx(true / (true + WHOLE), abs=0.02)
    b1, b2 = noisy(size * BETA, SPREAD, seed=1)
    b = SHARE * b1 + (1 - SHARE) * b2
    real, predicted = b / F @ (size * BETA), np.sum(b / F * b, axis=1)
    assert found == pytest.approx(real.mean() / predicted.mean(), abs=0.02)
    cos2 = real**2 / (predicted * true)
    assert found == pytest.approx(cos2.mean(), abs=0.02)


@pytest.mark.parametrize("iterations", [1, 10])
@pytest.mark.parametrize("share", always([0.5, 0.2], 0.2))
def test_pure_noise_has_no_signal_whatever_the_number_of_iterations(iterations, share):
    """A ratio's mean is a little below that of its parts' means: by less than its variance."""
    found = signals(*noisy(0.0, SPREAD, share), share, iterations)
    assert abs(found.mean()) < 4 * found.std() / np.sqrt(BATCHES) + found.var()
    assert found.min() < -0.1 < 0.1 < found.max()


def test_parts_that_agree_have_a_signal_of_one_and_opposite_ones_a_negative_one():
    b1 = noisy(BETA, SPREAD)[0][:3]
    assert_allclose(signals(b1, b1), 1.0, rtol=1e-4)
    assert_array_equal(signals(b1, -b1), -1.0)


def test_without_a_gradient_the_signal_is_nan():
    assert np.isnan(signals(np.zeros((1, P)), np.zeros((1, P)))).all()
    assert_array_equal(ratio(jnp.array([1.0, 0.5, -3.0]), jnp.array([0.0, 1.0, 1.0])), [np.nan, 0.5, -1.0])


def test_a_part_without_a_finite_gradient_has_no_signal():
    sub_batch = SubBatch(lambda theta: jnp.sqrt(theta[:1]), 0.5, jnp.array(True))
    assert_array_equal(measure(sub_batch, jnp.zeros(2), lambda v: v, jnp.ones((1, 2)), jnp.ones((1, 2)), 5), [0.0])


# --- in a step --------------------------------------------------------------------------------------


@partial(jax.jit, static_argnames=("step", "measured"))
def _take(step, due, measured):
    """Two constraints of which the part sees (1, 0) and (0, 1), and the rest (1, 2) and (0, −3); F = I."""
    sub_batch = SubBatch(lambda theta: 0.5 * theta[:2], 0.5, due) if measured else None
    b = jnp.array([[1.0, 1.0, 0.0], [0.0, -1.0, 0.0]])

    def evaluate(theta):
        return Evaluation(-theta[2], b @ theta, theta @ theta / 2)

    problem = Problem(
        jnp.zeros(3), evaluate, lambda theta: theta, lambda _, v: v, jnp.full(2, -0.1), sub_batch=sub_batch
    )
    theta, _, report = step.take(problem, TrustRegion(damping=0.0, delta=0.1), None)
    return theta, report


@pytest.mark.parametrize("step", [ConstrainedStep(), ProjectedStep()], ids=["constrained", "projected"])
def test_a_step_reports_the_signal_when_it_is_due_and_does_not_change(step):
    """b₁·b₂ / b·b is 1/2 for the one constraint, and −3/1, cut at −1, for the other."""
    theta, report = _take(step, jnp.array(True), True)
    assert_allclose(report.signal, [0.5, -1.0], rtol=1e-5)
    for due, measured in ((False, True), (True, False)):
        same, silent = _take(step, jnp.array(due), measured)
        assert_array_equal(theta, same)
        assert np.isnan(silent.signal).all()


# --- over epochs ------------------------------------------------------------------------------------


def after(*measured):
    trend = no_signal(1)
    for each in measured:
        trend = trend.after(jnp.array([each], jnp.float32))
    return trend


def test_the_trend_weighs_the_latest_measurement_most():
    assert_allclose(after(0.4).share, [0.4], rtol=1e-6)
    assert_allclose(after(0.4, 0.1).share, [(0.9 * 0.4 + 0.1) / 1.9], rtol=1e-5)


def test_epochs_without_a_measurement_change_nothing_but_the_count():
    trend = after(0.4, np.nan, np.nan, 0.1)
    assert int(trend.epochs) == 4
    assert_allclose(trend.share, after(0.4, 0.1).share)


def test_negative_measurements_count_but_the_trend_is_never_negative():
    assert_array_equal(after(0.3, -0.4).share, [0.0])
    assert_allclose(after(0.3, -0.1).share, [(0.9 * 0.3 - 0.1) / 1.9], rtol=1e-5)


def test_before_the_first_measurement_the_signal_is_one():
    assert_array_equal(no_signal(2).share, [1.0, 1.0])
    assert_array_equal(after(np.nan).share, [1.0])


def test_a_measurement_is_due_in_the_first_of_every_so_many_epochs():
    trend, due = no_signal(1), []
    for _ in range(7):
        due.append(bool(trend.due(3)))
        trend = trend.after(jnp.array([jnp.nan]))
    assert due == [True, False, False, True, False, False, True]
    assert isinstance(trend, SignalTrend)


def test_in_a_batch_the_signal_is_measured_only_if_due_and_each_run_keeps_its_own():
    b1, b2 = (jnp.asarray(each[:3], jnp.float32) for each in noisy(BETA, SPREAD))
    diagonal = jnp.asarray(F, jnp.float32)

    def one(b1, b2, due):
        b = 0.5 * (b1 + b2)
        sub_batch = SubBatch(lambda theta: 0.5 * (b1 @ theta)[None], 0.5, due)
        return measure(sub_batch, jnp.zeros(P), lambda v: diagonal * v, b[None], (b / diagonal)[None], 10)[0]

    due, every = jnp.array([True, False, True]), jax.vmap(one)
    assert "cond[" in str(jax.make_jaxpr(every)(b1, b2, due))
    expected = [one(*each) for each in zip(b1, b2, due, strict=True)]
    assert np.isnan(expected[1])
    assert_allclose(every(b1, b2, due), expected, rtol=1e-4)
    assert np.isnan(every(b1, b2, jnp.zeros(3, bool))).all()
