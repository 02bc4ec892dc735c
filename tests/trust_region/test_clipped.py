"""Adam on a quadratic: loss = ½ Σ bend·θ², divergence = ½ ‖θ − θ₀‖²."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.errors import BadSetting
from ascpo.ranges import check
from ascpo.trust_region.clipped import ClippedStep
from ascpo.trust_region.line_search import Evaluation
from ascpo.trust_region.settings import TrustRegion
from ascpo.trust_region.step import Problem

START = jnp.array([1.0, -2.0])
FAR = 1e6
"""A radius that nothing reaches."""
RATE = 0.05


@partial(jax.jit, static_argnames=("delta", "step"))
def _descend(theta, adam, bend, edge, delta, step):
    def evaluate(point):
        # Over the edge the loss is not a number, and neither is its gradient.
        bad = jnp.where(point[0] < edge, jnp.nan, 1.0)
        loss = jnp.sum(bend * point**2) / 2 * bad
        return Evaluation(loss, jnp.zeros(0), jnp.sum((point - START) ** 2) / 2)

    problem = Problem(theta, evaluate, lambda point: point, lambda _, v: v, jnp.zeros(0))
    return step.take(problem, TrustRegion(delta=delta), adam)


def go(theta=START, adam=None, bend=(1.0, 4.0), edge=-np.inf, delta=FAR, iterations=10):
    step = ClippedStep(learning_rate=RATE, iterations=iterations)
    adam = step.init(theta) if adam is None else adam
    return _descend(theta, adam, jnp.asarray(bend), jnp.asarray(edge), delta, step)


def by_hand(steps):
    """Adam as published (arXiv:1412.6980), with β₁ = 0.9 and β₂ = 0.999."""
    theta = np.asarray(START, float)
    mean, square = np.zeros(2), np.zeros(2)
    for t in range(1, steps + 1):
        g = np.array([1.0, 4.0]) * theta
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g**2
        theta = theta - RATE * (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
    return theta


def taken(report, iterations=10):
    return iterations - int(report.exponent)


def test_the_first_step_has_the_size_of_the_learning_rate_in_every_coordinate():
    theta, _, report = go(iterations=1)
    assert_allclose(theta - START, [-RATE, RATE], rtol=1e-4)
    assert report.accepted


def test_the_steps_are_those_of_adam():
    theta, _, report = go()
    assert_allclose(theta, by_hand(10), rtol=1e-5)
    assert taken(report) == 10


def test_a_quadratic_is_descended_and_the_gain_reported():
    theta, _, report = go(iterations=200)
    assert_allclose(theta, [0.0, 0.0], atol=0.05)
    assert float(report.gain) == pytest.approx(0.5 * 1 + 2.0 * 4, rel=1e-2)
    assert float(report.divergence) == pytest.approx(2.5, rel=0.1)


def test_the_descent_ends_with_the_step_that_passes_the_radius():
    """After n steps of about 0.05 in both coordinates the divergence is about 0.0025·n²: 0.01, then 0.0225."""
    theta, _, report = go(delta=0.015)
    assert taken(report) == 3
    assert float(report.divergence) == pytest.approx(0.0225, rel=0.05)
    assert_allclose(theta, by_hand(3), rtol=1e-5)


def test_there_are_no_more_steps_than_iterations():
    theta, _, report = go(iterations=3)
    assert_allclose(theta, by_hand(3), rtol=1e-5)
    assert taken(report, 3) == 3


def test_two_descents_that_pass_on_the_state_of_adam_equal_one_of_twice_the_length():
    halfway, adam, _ = go(iterations=5)
    theta, _, _ = go(halfway, adam, iterations=5)
    assert_allclose(theta, go()[0], rtol=1e-6)


def test_a_gradient_of_nan_changes_nothing():
    adam = ClippedStep(learning_rate=RATE).init(START)
    theta, after, report = go(adam=adam, edge=np.inf)
    assert_array_equal(theta, START)
    assert not report.accepted
    assert taken(report) == 0
    jax.tree.map(assert_array_equal, after, adam)


def test_a_gradient_that_becomes_nan_ends_the_descent():
    """Three steps of about 0.05 lead from 1 to 0.85, over the edge."""
    theta, adam, report = go(edge=0.875)
    assert taken(report) == 3
    assert_allclose(theta, by_hand(3), rtol=1e-5)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(adam))


def test_a_clipped_step_reports_no_constraints():
    _, _, report = go(iterations=1)
    assert report.nu.shape == report.asked.shape == report.predicted.shape == report.actual.shape == (0,)


def test_zero_iterations_are_refused():
    with pytest.raises(BadSetting, match="iterations=0 must be a whole number from 1"):
        check(ClippedStep(iterations=0))


def test_the_defaults_are_those_of_the_published_measurements():
    assert (ClippedStep().learning_rate, ClippedStep().iterations) == (3e-4, 80)
    assert ClippedStep(iterations=1).iterations == 1
