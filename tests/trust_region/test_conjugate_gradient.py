"""Conjugate gradients against dense algebra."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.trust_region.conjugate_gradient import Solved, solve

P = 12


def matrix(condition: float = 100.0) -> np.ndarray:
    """Symmetric, with eigenvalues from 1 to `condition`."""
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(P, P)))
    return Q @ np.diag(np.geomspace(1.0, condition, P)) @ Q.T


def right_sides(*sizes: float) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(len(sizes), P)) * np.array(sizes)[:, None]


@partial(jax.jit, static_argnames=("iterations", "tolerance"))
def _solved(F, b, **how):
    return solve(lambda v: F @ v, b, **how)


def solved(F, b, **how) -> Solved:
    return _solved(jnp.asarray(F, jnp.float32), jnp.asarray(b, jnp.float32), **how)


def test_the_solutions_are_those_of_dense_algebra_whatever_the_scale_of_the_rows():
    F, b = matrix(), right_sides(1e-8, 1.0, 1e6)
    found = solved(F, b, iterations=50, tolerance=1e-6)
    exact = np.linalg.solve(F, b.T).T
    size = np.linalg.norm(exact, axis=1, keepdims=True)
    # A residual of 1e-6 is an error of at most (condition) · 1e-6.
    assert_allclose(found.x / size, exact / size, atol=1e-4)
    assert np.max(found.residual) <= 2e-6


def test_a_row_of_zeros_has_the_solution_zero_and_no_residual():
    b = right_sides(1.0, 1.0)
    b[0] = 0.0
    found = solved(matrix(), b, iterations=50, tolerance=1e-6)
    assert_array_equal(found.x[0], 0.0)
    assert found.residual[0] == 0
    assert_allclose(found.x[1], np.linalg.solve(matrix(), b[1]), atol=1e-4)


@pytest.mark.parametrize("iterations", [1, 3, 6])
def test_the_residual_is_the_true_relative_one_even_if_it_is_large(iterations):
    F, b = matrix(), right_sides(1e-4, 1.0, 1e4)
    found = solved(F, b, iterations=iterations)
    left = np.linalg.norm(b - np.asarray(found.x, float) @ F, axis=1) / np.linalg.norm(b, axis=1)
    assert np.min(left) > 0.01
    assert_allclose(found.residual, left, rtol=1e-4)


def test_the_first_iterate_is_the_best_multiple_of_the_right_side():
    """x₁ = b · (b·b) / (b·Fb)."""
    F, b = np.diag(np.arange(1.0, P + 1)), np.ones((1, P))
    found = solved(F, b, iterations=1)
    assert_allclose(found.x[0], P / (P * (P + 1) / 2), rtol=1e-6)


def test_as_many_iterations_as_distinct_eigenvalues_are_enough():
    F = np.diag([1.0] * 6 + [10.0] * 6)
    found = solved(F, np.ones((1, P)), iterations=2, tolerance=1e-6)
    assert_allclose(found.x[0], 1 / np.diag(F), rtol=1e-5)


def test_iterations_end_once_the_residual_is_below_the_tolerance():
    F, b = matrix(), right_sides(1.0)
    loose, tight = (solved(F, b, iterations=100, tolerance=tolerance).residual[0] for tolerance in (0.1, 1e-4))
    assert 1e-4 < loose <= 0.1
    assert tight <= 1.1e-4
