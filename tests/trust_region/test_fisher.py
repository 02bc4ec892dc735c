"""Gauss–Newton products against matrices that are formed, and against the Hessian of the divergence."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from numpy.testing import assert_allclose

from ascpo.networks.policy import Policy
from ascpo.networks.settings import LOG_STD_BOUNDS
from ascpo.trust_region import conjugate_gradient
from ascpo.trust_region.fisher import gauss_newton

SAMPLES, INPUTS, HIDDEN, OUTPUTS = 7, 3, 4, 2
P = INPUTS * HIDDEN + HIDDEN * OUTPUTS
SAMPLE = jax.random.normal(jax.random.key(0), (SAMPLES, INPUTS))
THETA = jax.random.normal(jax.random.key(1), (P,))
METRIC = jnp.array([[2.0, 0.5], [0.5, 1.0]])


def network(theta):
    """Two linear maps with a tanh between them, at all samples."""
    first, second = jnp.split(theta, [INPUTS * HIDDEN])
    return jnp.tanh(SAMPLE @ first.reshape(INPUTS, HIDDEN)) @ second.reshape(HIDDEN, OUTPUTS)


def dense(damping: float) -> np.ndarray:
    """Mean of JᵀGJ, sample by sample."""
    J = np.asarray(jax.jit(jax.jacrev(network))(THETA), float)
    return sum(J[i].T @ np.asarray(METRIC) @ J[i] for i in range(SAMPLES)) / SAMPLES + damping * np.eye(P)


def product(damping: float):
    return gauss_newton(network, lambda at, tangent: tangent @ METRIC / SAMPLES, THETA, damping)


def matrix(product, p: int) -> np.ndarray:
    """What the product multiplies with."""
    return np.asarray(jax.jit(jax.vmap(product))(jnp.eye(p)))


def tiny_policy(log_std: float):
    """A policy of 28 parameters, its views on two leading axes, and the mean divergence from it."""
    policy = Policy(3, 2, (4,), initial_log_std=log_std, key=jax.random.key(2))
    params, static = eqx.partition(policy, eqx.is_inexact_array)
    theta, unravel = ravel_pytree(params)
    rebuild = lambda theta: eqx.combine(unravel(theta), static)  # noqa: E731
    view = jax.random.normal(jax.random.key(3), (5, 2, 3))

    def outputs(theta):
        return rebuild(theta)(view)

    def divergence(new):
        return jnp.mean(outputs(theta).divergence(outputs(new)))

    return theta, outputs, divergence


@pytest.mark.parametrize("damping", [0.0, 0.1])
def test_products_are_those_of_the_explicit_matrix(damping):
    assert_allclose(matrix(product(damping), P), dense(damping), atol=1e-5)


def test_the_metric_may_depend_on_the_outputs():
    """For squared outputs as G, F is mean of Σ_k f_k² ∇f_k ∇f_kᵀ."""
    by_outputs = gauss_newton(network, lambda at, tangent: at**2 * tangent / SAMPLES, THETA, 0.0)
    f, J = np.asarray(network(THETA), float), np.asarray(jax.jacrev(network)(THETA), float)
    assert_allclose(matrix(by_outputs, P), np.einsum("nk,nkp,nkq->pq", f**2, J, J) / SAMPLES, rtol=1e-4, atol=1e-5)


def test_conjugate_gradients_with_products_solve_the_dense_system():
    b = jax.random.normal(jax.random.key(4), (3, P))
    found = jax.jit(lambda b: conjugate_gradient.solve(product(0.1), b, iterations=100, tolerance=1e-6))(b)
    assert_allclose(found.x, np.linalg.solve(dense(0.1), np.asarray(b, float).T).T, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("log_std", [-0.5, 0.7, LOG_STD_BOUNDS[1] + 1.0], ids=["narrow", "wide", "beyond its bound"])
def test_the_fisher_matrix_of_a_policy_is_the_hessian_of_its_mean_divergence(log_std):
    theta, outputs, divergence = tiny_policy(log_std)
    F = matrix(gauss_newton(outputs, lambda at, tangent: at.metric(tangent), theta, 0.0), len(theta))
    hessian = jax.jit(jax.hessian(divergence))(theta)
    assert np.max(np.abs(hessian)) > 0.01
    assert_allclose(F, hessian, rtol=1e-4, atol=1e-5)


def test_half_of_the_quadratic_form_is_the_divergence_of_a_small_step():
    theta, outputs, divergence = tiny_policy(-0.5)
    F = matrix(gauss_newton(outputs, lambda at, tangent: at.metric(tangent), theta, 0.0), len(theta))
    v = 0.004 * np.random.default_rng(5).normal(size=len(theta))
    moved = theta + jnp.asarray(v, jnp.float32)
    assert float(jax.jit(divergence)(moved)) == pytest.approx(v @ F @ v / 2, rel=0.05)
