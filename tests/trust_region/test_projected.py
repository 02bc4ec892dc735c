"""The nearest point that keeps all constraints, against least squares with weights ≥ 0 (`helpers.nearest`)."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from ascpo.trust_region.dual import Case
from ascpo.trust_region.line_search import Evaluation
from ascpo.trust_region.projected import ProjectedStep
from ascpo.trust_region.projection import project
from ascpo.trust_region.settings import TrustRegion
from ascpo.trust_region.step import Problem
from tests.trust_region.helpers import DIMENSIONS, nearest, steady

VECTORS = hnp.arrays(np.float32, 3, elements=st.floats(-2, 2, width=32, allow_subnormal=False))
METRIC = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.5]])
METRICS = {"parameters": np.eye(3), "divergence": METRIC}
_project = jax.jit(project)
_project_all = jax.jit(jax.vmap(project))


def projected(x, b, c, L=None):
    """The nearest point in the metric L, and the multiples that lead there."""
    x, b, c = (np.asarray(v, np.float32) for v in (x, b, c))
    Linv_b = b if L is None else np.linalg.solve(L, b.T).T.astype(np.float32)
    found, nu = _project(*map(jnp.asarray, (x, b, Linv_b, c)))
    return np.asarray(found, float), np.asarray(nu, float)


# --- one constraint ---------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
@steady
@given(x=VECTORS, b=VECTORS, c=st.floats(-3, 3, width=32))
def test_one_constraint_is_met_exactly_if_it_was_broken_and_changes_nothing_else(metric, x, b, c):
    """x − [(b·x + c) / bᵀL⁻¹b]₊ · L⁻¹b."""
    assume(np.linalg.norm(b) > 0.1)
    L = METRICS[metric]
    found, nu = projected(x, b[None], [c], L)
    broken = float(b.astype(float) @ x + c)
    if broken <= -1e-5:
        assert_array_equal(found, x)
        assert nu[0] == 0
    else:
        Linv_b = np.linalg.solve(L, b.astype(float))
        assert_allclose(found, x - max(broken / (b @ Linv_b), 0.0) * Linv_b, atol=1e-4)
        assert c + b @ found == pytest.approx(0.0, abs=2e-5)


@pytest.mark.parametrize("metric", METRICS)
def test_no_point_that_keeps_the_constraint_is_nearer(metric):
    x, b, c, L = np.array([1.0, -2.0, 0.5]), np.array([1.0, 1.0, -1.0]), 3.0, METRICS[metric]
    oracle = minimize(
        lambda y: (y - x) @ L @ (y - x) / 2,
        np.zeros(3),
        constraints={"type": "ineq", "fun": lambda y: -c - b @ y},
        options={"ftol": 1e-12},
    )
    assert_allclose(projected(x, b[None], [c], L)[0], oracle.x, atol=1e-5)


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_the_units_of_a_constraint_do_not_matter(size):
    found, _ = projected([1.0, 0.0, 0.0], [[size, 0.0, 0.0]], [-0.25 * size])
    assert_allclose(found, [0.25, 0.0, 0.0], rtol=1e-5)


# --- several ----------------------------------------------------------------------------------------


def random_problems(m, count=300):
    """(L, x, b, c) with F = LLᵀ, and no two constraints nearly the same or opposite: those take more rounds."""
    rng, found = np.random.default_rng(m), []
    while len(found) < count:
        L = np.tril(rng.normal(size=(DIMENSIONS, DIMENSIONS)), -1) / 2 + np.eye(DIMENSIONS)
        b, x, c = rng.normal(size=(m, DIMENSIONS)), rng.normal(size=DIMENSIONS), rng.uniform(-2, 2, m)
        directions = np.linalg.solve(L, b.T)
        if np.linalg.cond(directions / np.linalg.norm(directions, axis=0)) < 4:
            found.append((L, x, b, c))
    return [np.array(v) for v in zip(*found, strict=True)]


@pytest.mark.parametrize("m", [2, 3])
def test_several_constraints_are_met_at_the_nearest_point_of_all(m):
    L, x, b, c = random_problems(m)
    Finv_b = np.linalg.solve(L @ L.swapaxes(1, 2), b.swapaxes(1, 2)).swapaxes(1, 2)
    found, nu = map(np.asarray, _project_all(*(jnp.asarray(v, jnp.float32) for v in (x, b, Finv_b, c))))
    assert np.all(c + np.einsum("nmp,np->nm", b, found) <= 1e-4)
    assert np.all(nu >= 0)
    # With y = Lᵀx distances in F are plain ones.
    expected = [
        np.linalg.solve(Li.T, nearest(np.linalg.solve(Li, bi.T).T, ci, Li.T @ xi))
        for Li, xi, bi, ci in zip(L, x, b, c, strict=True)
    ]
    assert_allclose(found, expected, atol=1e-4)
    broken = np.sum(nu > 0, axis=1)
    assert all(np.sum(broken == k) > 10 for k in range(m + 1))


def test_a_correction_for_one_constraint_is_undone_if_another_makes_it_unnecessary():
    """x₁ ≤ −1 moves 0 to (−1, 0); x₁ + x₂ ≤ −4 alone moves it to (−2, −2), where the first holds."""
    found, nu = projected([0.0, 0.0, 0.0], [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]], [1.0, 4.0])
    assert_allclose(found, [-2.0, -2.0, 0.0], atol=1e-5)
    assert_allclose(nu, [0.0, 2.0], atol=1e-5)


@pytest.mark.parametrize(("b", "c"), [([[0.0] * 3], [1.0]), ([[0.0] * 3, [1.0, 0.0, 0.0]], [1.0, 0.5])])
def test_a_constraint_without_a_gradient_is_skipped(b, c):
    found, nu = projected([0.0, 1.0, 0.0], b, c)
    assert_allclose(found, [-0.5 if len(c) > 1 else 0.0, 1.0, 0.0])
    assert nu[0] == 0


# --- a whole step -----------------------------------------------------------------------------------

DELTA = 0.5
CENTRE = jnp.array([3.0, -2.0])


@partial(jax.jit, static_argnames="projection")
def _take(g, b, c, reality, fraction, projection, cap=None):
    def evaluate(theta):
        d = theta - CENTRE
        return Evaluation(loss=g @ d, constraints=b @ d, divergence=reality * d @ d / 2)

    region = TrustRegion(delta=DELTA, damping=0.0, backtracking=0.8, backtracks=30)
    problem = Problem(CENTRE, evaluate, lambda theta: theta, lambda _, v: v, c, fraction, cap)
    theta, _, report = projection.take(problem, region, None)
    return theta, report


def take(b=(0.0, 1.0), c=-5.0, reality=0.9999, fraction=None, **projection):
    """Down g = (−0.6, −0.8), with F = I and a region of radius 1, so that the natural step is (0.6, 0.8)."""
    numbers = [jnp.asarray(v, jnp.float32) for v in ((-0.6, -0.8), [b], [c], reality)]
    asked = None if fraction is None else jnp.asarray([fraction], jnp.float32)
    theta, report = _take(*numbers, asked, ProjectedStep(**projection))
    return np.asarray(theta - CENTRE, float), report


def test_a_constraint_out_of_reach_leaves_the_natural_step_alone():
    d, report = take()
    assert_allclose(d, [0.6, 0.8], atol=1e-6)
    assert (int(report.case), int(report.exponent)) == (Case.FREE, 0)
    assert_array_equal(report.nu, [0.0])
    assert float(report.gain) == pytest.approx(1.0, rel=1e-5)
    assert float(report.lam) == pytest.approx(1.0, rel=1e-5)
    assert report.accepted


@pytest.mark.parametrize("metric", METRICS)
def test_a_violated_constraint_removes_the_violating_part_of_the_step(metric):
    """Where F = I both projections are one: d₂ ≤ 0.3."""
    d, report = take(c=-0.3, nearest=metric)
    assert_allclose(d, [0.6, 0.3], atol=1e-6)
    assert int(report.case) == Case.BOUNDED
    assert_allclose(report.nu, [0.5], rtol=1e-5)
    for change in (report.predicted, report.actual):
        assert_allclose(change, [0.3], rtol=1e-5)
    assert_allclose(report.asked, [-0.3])


def test_a_projected_step_outside_the_region_is_shortened():
    """(0.6, −1.5) has half its square at 1.305: 0.8^2i · 1.305 ≤ 0.5 first at i = 3."""
    d, report = take(c=1.5)
    assert int(report.exponent) == 3
    assert_allclose(d, [0.6 * 0.8**3, -1.5 * 0.8**3], rtol=1e-5)
    assert float(report.divergence) <= DELTA
    assert_allclose(report.predicted, [-1.5 * 0.8**3], rtol=1e-5)


def test_without_within_region_the_step_is_taken_whole():
    d, report = take(c=1.5, within_region=False)
    assert_allclose(d, [0.6, -1.5], rtol=1e-5)
    assert int(report.exponent) == 0
    assert float(report.divergence) > DELTA


def test_without_within_region_a_step_to_nan_is_not_taken():
    d, report = take(reality=np.nan, within_region=False)
    assert not report.accepted
    assert_array_equal(d, 0.0)


def test_a_cost_that_no_step_changes_leaves_the_step_alone():
    d, report = take(b=(0.0, 0.0), c=1.0)
    assert report.accepted
    assert_allclose(d, [0.6, 0.8], atol=1e-6)
    assert_array_equal(report.nu, [0.0])


def test_a_fraction_is_relative_to_the_largest_decrease_in_the_region():
    """‖b‖ = 2, so the region could lower the constraint by 2; a quarter of that is d₂ ≤ −¼.

    What is left of the radius for the natural step is √(1 − ¼²).
    """
    d, report = take(b=(0.0, 2.0), c=-5.0, fraction=0.25)
    assert_allclose(report.asked, [0.5], rtol=1e-5)
    assert_allclose(d, [0.6 * np.sqrt(1 - 0.25**2), -0.25], atol=1e-6)


@pytest.mark.parametrize("fraction", [0.6, 1.0])
def test_a_fraction_is_achieved_in_full_within_the_region(fraction):
    """b is orthogonal to g: the natural step takes √(1 − wanted²), the constraint the rest."""
    d, report = take(b=(0.8, -0.6), fraction=fraction)
    assert int(report.exponent) == 0
    assert_allclose(report.actual, [-fraction], rtol=1e-5)
    assert d @ d == pytest.approx(1.0, rel=1e-5)


def test_without_a_gradient_of_the_loss_only_the_constraint_moves_the_step():
    """g = 0, so that the natural step has no length: what is left is the way to d₂ ≤ −0.5."""
    theta, report = _take(jnp.zeros(2), jnp.array([[0.0, 1.0]]), jnp.array([0.5]), 0.9999, None, ProjectedStep())
    assert_allclose(theta - CENTRE, [0.0, -0.5], atol=1e-6)
    assert float(report.lam) == 0.0
    assert int(report.case) == Case.BOUNDED


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_the_size_of_the_gradient_of_the_loss_changes_only_its_multiplier(size):
    g = size * jnp.array([-0.6, -0.8])
    theta, report = _take(g, jnp.array([[0.0, 1.0]]), jnp.array([-5.0]), 0.9999, None, ProjectedStep())
    assert_allclose(theta - CENTRE, [0.6, 0.8], atol=1e-5)
    assert float(report.lam) == pytest.approx(size, rel=1e-4)


def test_a_negative_fraction_reserves_no_room():
    d, _ = take(b=(0.0, 1.0), fraction=-0.5)
    assert_allclose(d, [0.6, 0.5], atol=1e-5)


@pytest.mark.parametrize("cap", [0.5, 0.97])
def test_several_constraints_get_the_cap_together_and_the_loss_gets_the_rest(cap):
    """Both ask for all of the cap and are orthogonal: they get cap/√2 each, and the natural step keeps √(1 − cap²)."""
    g, b, both = jnp.array([-0.6, -0.8]), jnp.eye(2), jnp.array([cap, cap])
    theta, report = _take(g, b, jnp.zeros(2), 0.9999, both, ProjectedStep(), jnp.array(cap))
    assert_allclose(report.asked, both / np.sqrt(2), rtol=1e-5)
    assert_allclose(theta - CENTRE, -both / np.sqrt(2), rtol=1e-5)
    assert float(report.lam) == pytest.approx(1 / np.sqrt(1 - cap**2), rel=1e-4)


def test_fractions_within_the_cap_are_left_as_they_are():
    """Together they ask for √(0.3² + 0.4²) = 0.5."""
    g, b, fractions = jnp.array([-0.6, -0.8]), jnp.eye(2), jnp.array([0.3, 0.4])
    for cap in (None, jnp.array(0.5)):
        _, report = _take(g, b, jnp.zeros(2), 0.9999, fractions, ProjectedStep(), cap)
        assert_allclose(report.asked, fractions, rtol=1e-6)


@pytest.mark.parametrize("share", [0.97, 0.1, 1 / 3])
def test_the_cap_does_not_change_a_single_demand_equal_to_it(share):
    share = jnp.array(share, jnp.float32)
    g, b = jnp.array([-0.6, -0.8]), jnp.array([[0.3, 1.7]])
    free, capped = (_take(g, b, jnp.zeros(1), 0.9999, share[None], ProjectedStep(), cap) for cap in (None, share))
    for one, other in zip(jax.tree.leaves(free), jax.tree.leaves(capped), strict=True):
        assert_array_equal(one, other)
