"""Smoothed gradients: their weights, and that the line search judges by them too."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.trust_region.constrained import ConstrainedStep
from ascpo.trust_region.line_search import Evaluation
from ascpo.trust_region.momentum import Momentum, no_momentum, smoothed
from ascpo.trust_region.projected import ProjectedStep
from ascpo.trust_region.signal import Part
from ascpo.trust_region.step import Problem, TrustRegion

STEPS = {"constrained": ConstrainedStep(), "projected": ProjectedStep()}
REGION = TrustRegion(delta=0.5, damping=0.0, cost_momentum=0.5)


def rows(g, b):
    return jnp.asarray([g, b], jnp.float32)


def test_earlier_gradients_weigh_less_by_the_factor_and_the_losss_is_its_own():
    """Weights 1, ½ and ¼ of 7/4."""
    carried = no_momentum(1, 2)
    for b in ((4.0, 0.0), (0.0, 4.0), (1.0, 1.0)):
        found, carried = smoothed(carried, rows((7.0, 8.0), b), 0.5)
    assert_array_equal(found[0], [7.0, 8.0])
    assert_allclose(found[1], [(1 + 4 / 4) / (7 / 4), (1 + 4 / 2) / (7 / 4)], rtol=1e-6)


def test_the_first_gradient_counts_in_full():
    found, _ = smoothed(no_momentum(1, 2), rows((1.0, 2.0), (3.0, 4.0)), 0.9)
    assert_allclose(found, [[1.0, 2.0], [3.0, 4.0]], rtol=1e-6)


def test_without_momentum_gradients_are_left_alone():
    given = rows((1.0, 2.0), (3.0, 4.0))
    assert smoothed(None, given, 0.0) == (given, None)


def test_the_noise_that_is_left_has_one_minus_a_over_one_plus_a_of_its_variance():
    a, noise = 0.8, jnp.asarray(np.random.default_rng(0).normal(size=(60, 1, 4000)), jnp.float32)

    def epoch(carried, b):
        found, carried = smoothed(carried, jnp.concatenate([b, b]), a)
        return carried, found[1]

    _, found = jax.lax.scan(epoch, no_momentum(1, 4000), noise)
    assert np.var(found[-1]) == pytest.approx((1 - a) / (1 + a), rel=0.1)


@pytest.mark.parametrize("name", STEPS)
def test_there_is_something_to_carry_only_where_it_is_asked_for(name):
    theta = jnp.zeros(3)
    assert STEPS[name].init(theta, 2, TrustRegion()) is None
    assert STEPS[name].init(theta, 0, REGION) is None
    assert STEPS[name].init(theta, 2, REGION).total.shape == (2, 3)


@partial(jax.jit, static_argnames="step")
def _take(step, state, b, c, rise):
    """Down −θ₃ with F = I; the constraint is b·θ + rise·θ₂²."""

    def evaluate(theta):
        return Evaluation(-theta[2], (b @ theta + rise * theta[1] ** 2)[None], 0.999 * theta @ theta / 2)

    part = Part(lambda theta: b @ theta[None].T / 2, 0.5, jnp.array(True))
    problem = Problem(jnp.zeros(3), evaluate, lambda theta: theta, lambda _, v: v, c, part=part)
    return step.take(problem, REGION, state)


def take(name, b, before, c=0.5, rise=0.0):
    state = Momentum(jnp.asarray([before], jnp.float32), jnp.ones(()))
    return _take(STEPS[name], state, jnp.asarray(b, jnp.float32), jnp.asarray([c], jnp.float32), rise)


@pytest.mark.parametrize("name", STEPS)
def test_a_step_goes_by_the_mean_of_the_gradients(name):
    """b = (1, 0, 0) and ½·(0, 2, 0), over 3/2: (2, 2, 0)/3. To lower that by ½ takes −(3/8, 3/8, 0)."""
    theta, after, report = take(name, (1, 0, 0), (0, 2, 0))
    assert_allclose(after.total, [[1.0, 1.0, 0.0]])
    assert_allclose(after.weight, 1.5)
    assert float(theta[0]) == pytest.approx(float(theta[1]), rel=1e-4)
    shortened = 0.8 ** int(report.exponent)
    assert_allclose(theta[:2], [-0.375 * shortened] * 2, rtol=1e-4)
    assert_allclose(report.predicted, [-0.5 * shortened], rtol=1e-4)
    assert_allclose(report.actual, report.predicted, rtol=1e-4)


def test_the_line_search_judges_the_batchs_surrogate_with_the_mean_for_its_gradient():
    """At t of the step, −(3/8, 3/8)·t, it changes by −t/2 + 9·(3/8·t)²: t ≤ 32/81 or so."""
    theta, _, report = take("constrained", (1, 0, 0), (0, 2, 0), rise=9.0)
    assert int(report.exponent) == np.ceil(np.log(32 / 81) / np.log(0.8)) == 5
    assert_allclose(theta[:2], [-0.375 * 0.8**5] * 2, rtol=1e-4)


def test_a_step_along_the_mean_is_not_shortened_because_the_batchs_own_noise_is_against_it():
    _, _, report = take("constrained", (-1, 0, 0), (4, 2, 0))
    assert int(report.exponent) == 0
    assert report.actual[0] < 0.0


@pytest.mark.parametrize("name", STEPS)
def test_the_signal_is_that_of_the_batch(name):
    """Its two halves are the same, whatever was before."""
    assert_allclose(take(name, (1, 0, 0), (0, 2, 0))[2].signal, [1.0], rtol=1e-5)
