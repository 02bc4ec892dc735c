import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.experience import gae as module
from ascpo.experience.gae import ends_within, explained_variance, relative_bias, returns

gae = jax.jit(module.gae, static_argnames=("discount", "gae_lambda", "bootstrap_on_timeout"))
X = jnp.array([1.0, 2.0, 3.0])[:, None]
V = jnp.array([0.5, 0.25, 0.125])[:, None]
V_NEXT = jnp.array([0.25, 0.125, 10.0])[:, None]
NEVER = jnp.zeros((3, 1), bool)
LAST = jnp.array([False, False, True])[:, None]


def estimated(terminated=NEVER, truncated=NEVER, bootstrap_on_timeout=True, discount=1.0, gae_lambda=1.0):
    return gae(
        X,
        V,
        V_NEXT,
        terminated,
        truncated,
        discount=discount,
        gae_lambda=gae_lambda,
        bootstrap_on_timeout=bootstrap_on_timeout,
    )


def test_after_a_goal_nothing_follows():
    assert_allclose(estimated(terminated=LAST).target[:, 0], [6.0, 5.0, 3.0])


def test_after_a_time_limit_the_critic_predicts_the_rest():
    assert_allclose(estimated(truncated=LAST).target[:, 0], [16.0, 15.0, 13.0])


def test_a_maximum_is_final_at_the_time_limit():
    assert_allclose(estimated(truncated=LAST, bootstrap_on_timeout=False).target[:, 0], [6.0, 5.0, 3.0])


def test_after_a_cut_the_critic_predicts_the_rest_even_of_a_maximum():
    assert_allclose(estimated(bootstrap_on_timeout=False).target[:, 0], [16.0, 15.0, 13.0])


def test_with_lambda_one_the_advantage_is_the_return_minus_the_value():
    out = estimated(terminated=LAST)
    assert_allclose(out.advantage, out.target - V, rtol=1e-6)


def test_with_lambda_zero_the_advantage_is_the_td_error():
    out = estimated(terminated=LAST, gae_lambda=0.0)
    assert_allclose(out.advantage, out.td_error)
    assert_allclose(out.td_error[:, 0], [1 + 0.25 - 0.5, 2 + 0.125 - 0.25, 3 - 0.125])


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**31), st.sampled_from([0.5, 0.9, 1.0]), st.sampled_from([0.0, 0.7, 1.0]))
def test_advantages_and_returns_equal_their_sums_written_out(seed, gamma, lam):
    rng = np.random.default_rng(seed)
    T, E = 9, 2
    x, v, v_next = (rng.standard_normal((T, E)).astype(np.float32) for _ in range(3))
    terminated = rng.random((T, E)) < 0.2
    truncated = (rng.random((T, E)) < 0.2) & ~terminated
    out = gae(
        *map(jnp.asarray, (x, v, v_next, terminated, truncated)),
        discount=gamma,
        gae_lambda=lam,
        bootstrap_on_timeout=True,
    )
    for e in range(E):
        for t in range(T):
            A, R = 0.0, 0.0
            for i in range(t, T):
                follows = 0.0 if terminated[i, e] else v_next[i, e]
                A += (gamma * lam) ** (i - t) * (x[i, e] + gamma * follows - v[i, e])
                R += gamma ** (i - t) * x[i, e]
                if terminated[i, e] or truncated[i, e] or i == T - 1:
                    R += gamma ** (i - t + 1) * follows
                    break
            assert_allclose(out.advantage[t, e], A, rtol=1e-3, atol=1e-4)
            assert_allclose(out.target[t, e], R, rtol=1e-3, atol=1e-4)


def test_returns_do_not_leak_from_one_episode_into_the_one_before():
    done = jnp.array([False, True, False])[:, None]
    assert_allclose(returns(X, jnp.zeros((3, 1)), done, 1.0)[:, 0], [3.0, 2.0, 3.0])


def test_a_step_is_known_if_its_episode_ends_within_the_rollout():
    done = jnp.array([[False, False], [True, False], [False, False]])
    assert_array_equal(ends_within(done), [[True, False], [True, False], [False, False]])


def test_explained_variance_is_one_for_the_truth_and_zero_for_a_constant():
    y = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    everywhere = jnp.ones((2, 2), bool)
    assert_allclose(explained_variance(y + 7.0, y, everywhere), 1.0)
    assert_allclose(explained_variance(jnp.zeros_like(y), y, everywhere), 0.0, atol=1e-6)


def test_explained_variance_of_a_constant_is_undefined():
    assert np.isnan(explained_variance(jnp.zeros((2, 1)), jnp.ones((2, 1)), jnp.ones((2, 1), bool)))


def test_the_bias_is_the_mean_overestimate_where_the_truth_is_known():
    """Known predictions sum to 3 and the truth to 2: half too much. The unknown step counts for neither."""
    prediction, truth = jnp.array([1.0, 2.0, 9.0])[:, None, None], jnp.array([1.0, 1.0, 1.0])[:, None, None]
    known = jnp.array([True, True, False])[:, None]
    assert_allclose(relative_bias(prediction, truth, known), [0.5], rtol=1e-6)


def test_explained_variance_uses_only_steps_with_known_returns():
    """Of known targets 1 and 3 (variance 1) predictions are off by 0.5 and −0.5 (variance ¼)."""
    target, prediction = jnp.array([1.0, 3.0, 99.0])[:, None], jnp.array([0.5, 3.5, 0.0])[:, None]
    known = jnp.array([True, True, False])[:, None]
    assert_allclose(explained_variance(prediction, target, known), 0.75, rtol=1e-6)


def test_explained_variance_works_for_small_variances():
    target = jnp.array([0.0, 1e-4])[:, None]
    assert_allclose(explained_variance(jnp.zeros((2, 1)), target, jnp.ones((2, 1), bool)), 0.0, atol=1e-5)
    assert_allclose(explained_variance(target, target, jnp.ones((2, 1), bool)), 1.0)


def test_the_bias_is_undefined_where_the_truth_is_zero():
    nothing, known = jnp.zeros((2, 1, 1)), jnp.ones((2, 1), bool)
    assert np.isnan(relative_bias(nothing + 1e-9, nothing, known)).all()
    # A truth that is all but rounding would make a multiple of ten digits.
    assert np.isnan(relative_bias(nothing - 6.0, nothing + 1e-10, known)).all()
    assert_allclose(relative_bias(nothing + 500.0, nothing + 1.0, known), [499.0], rtol=1e-6)
