import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from ascpo.networks.policy import Gaussian, Policy, mlp
from ascpo.networks.settings import LOG_STD_BOUNDS
from tests.slow import slow

OLD = Gaussian(jnp.array([[0.1, -0.3], [0.0, 2.0]]), jnp.array([-0.5, 0.2]))
NEW = Gaussian(jnp.array([[0.3, -0.1], [0.5, 1.0]]), jnp.array([-0.2, 0.1]))


def test_log_probabilities_are_those_of_the_normal_distribution():
    a = jnp.array([[0.0, 0.0], [1.0, 1.0]])
    expected = stats.norm(np.asarray(OLD.mean), np.exp(np.asarray(OLD.log_std))).logpdf(a).sum(axis=1)
    assert_allclose(OLD.log_prob(a), expected, rtol=1e-5)


def test_the_divergence_is_the_mean_log_ratio_under_the_old_policy():
    eps = jax.random.normal(jax.random.key(0), (200_000, 1, 2))
    a = OLD.mean + jnp.exp(OLD.log_std) * eps
    assert_allclose(OLD.divergence(NEW), jnp.mean(OLD.log_prob(a) - NEW.log_prob(a), axis=0), rtol=0.02)
    assert_allclose(OLD.divergence(OLD), 0.0, atol=1e-7)


@slow("tests/trust_region/test_fisher.py tests it with a policy's parameters")
def test_the_metric_is_the_hessian_of_the_mean_divergence():
    def mean_divergence(flat):
        return jnp.mean(OLD.divergence(Gaussian(flat[:4].reshape(2, 2), flat[4:])))

    here = jnp.concatenate([OLD.mean.ravel(), OLD.log_std])
    H = jax.hessian(mean_divergence)(here)
    for i in range(6):
        e = jnp.zeros(6).at[i].set(1.0)
        out = OLD.metric(Gaussian(e[:4].reshape(2, 2), e[4:]))
        assert_allclose(jnp.concatenate([out.mean.ravel(), out.log_std]), H[i], atol=1e-5)


def test_an_action_is_the_mean_moved_by_the_noise():
    policy = Policy(3, 2, key=jax.random.key(0))
    observation, noise = jnp.ones(3), jnp.array([1.0, -2.0])
    assert_allclose(policy.act(observation, noise), policy(observation).mean + np.exp(-0.5) * noise, rtol=1e-6)


def test_the_standard_deviation_stays_within_its_bounds():
    policy = Policy(3, 2, initial_log_std=50.0, key=jax.random.key(0))
    assert_allclose(policy(jnp.ones(3)).log_std, LOG_STD_BOUNDS[1])


def test_initial_weights_are_within_one_over_the_root_of_the_inputs():
    net = mlp(16, 4, (64, 64), key=jax.random.key(1))
    for layer in net.layers:
        bound = 1 / np.sqrt(layer.weight.shape[1])
        assert 0.9 * bound < float(jnp.abs(layer.weight).max()) <= bound


def test_layers_of_different_width_are_refused():
    with pytest.raises(ValueError, match="different width"):
        mlp(3, 2, (64, 32), key=jax.random.key(0))
