import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.experience import advantages
from ascpo.experience.advantages import explained_variance, returns, settled

judge = jax.jit(advantages.judge, static_argnames=("discount", "decay", "beyond_time_limit"))
X = jnp.array([1.0, 2.0, 3.0])[:, None]
V = jnp.array([0.5, 0.25, 0.125])[:, None]
V_NEXT = jnp.array([0.25, 0.125, 10.0])[:, None]
NEVER = jnp.zeros((3, 1), bool)
LAST = jnp.array([False, False, True])[:, None]


def judged(terminated=NEVER, truncated=NEVER, beyond_time_limit=True, discount=1.0, decay=1.0):
    return judge(
        X, V, V_NEXT, terminated, truncated, discount=discount, decay=decay, beyond_time_limit=beyond_time_limit
    )


def test_after_a_goal_nothing_follows():
    assert_allclose(judged(terminated=LAST).target[:, 0], [6.0, 5.0, 3.0])


def test_after_a_time_limit_the_critic_says_what_would_have_followed():
    assert_allclose(judged(truncated=LAST).target[:, 0], [16.0, 15.0, 13.0])


def test_a_maximum_does_not_go_on_after_a_time_limit():
    assert_allclose(judged(truncated=LAST, beyond_time_limit=False).target[:, 0], [6.0, 5.0, 3.0])


def test_after_a_cut_the_critic_stands_in_even_for_a_maximum():
    assert_allclose(judged(beyond_time_limit=False).target[:, 0], [16.0, 15.0, 13.0])


def test_with_full_decay_the_advantage_is_the_return_less_the_value():
    out = judged(terminated=LAST)
    assert_allclose(out.advantage, out.target - V, rtol=1e-6)


def test_without_decay_the_advantage_is_the_residual():
    out = judged(terminated=LAST, decay=0.0)
    assert_allclose(out.advantage, out.residual)
    assert_allclose(out.residual[:, 0], [1 + 0.25 - 0.5, 2 + 0.125 - 0.25, 3 - 0.125])


# Every pair of factors is compiled; the numbers differ in every example.
@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**31), st.sampled_from([0.5, 0.97, 1.0]), st.sampled_from([0.0, 0.6, 1.0]))
def test_advantages_and_returns_equal_their_sums_written_out(seed, gamma, lam):
    rng = np.random.default_rng(seed)
    T, E = 9, 2
    x, v, v_next = (rng.standard_normal((T, E)).astype(np.float32) for _ in range(3))
    terminated = rng.random((T, E)) < 0.2
    truncated = (rng.random((T, E)) < 0.2) & ~terminated
    out = judge(
        *map(jnp.asarray, (x, v, v_next, terminated, truncated)), discount=gamma, decay=lam, beyond_time_limit=True
    )
    advantage, target = np.asarray(out.advantage), np.asarray(out.target)
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
            assert_allclose(advantage[t, e], A, rtol=1e-3, atol=1e-4)
            assert_allclose(target[t, e], R, rtol=1e-3, atol=1e-4)


def test_returns_do_not_leak_from_one_episode_into_the_one_before():
    done = jnp.array([False, True, False])[:, None]
    assert_allclose(returns(X, jnp.zeros((3, 1)), done, 1.0)[:, 0], [3.0, 2.0, 3.0])


def test_a_step_is_settled_if_its_episode_ends_within_the_rollout():
    done = jnp.array([[False, False], [True, False], [False, False]])
    assert_array_equal(settled(done), [[True, False], [True, False], [False, False]])


def test_explained_variance_is_one_for_the_truth_and_zero_for_a_constant():
    y = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    everywhere = jnp.ones((2, 2), bool)
    assert_allclose(explained_variance(y + 7.0, y, everywhere), 1.0)
    assert_allclose(explained_variance(jnp.zeros_like(y), y, everywhere), 0.0, atol=1e-6)


def test_there_is_nothing_to_explain_in_a_constant():
    assert np.isnan(explained_variance(jnp.zeros((2, 1)), jnp.ones((2, 1)), jnp.ones((2, 1), bool)))
