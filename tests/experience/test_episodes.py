import jax
import jax.numpy as jnp
from numpy.testing import assert_allclose

from ascpo.engines.contract import Rollout
from ascpo.experience.episodes import LEVELS, accumulate_totals, episode_statistics, no_totals


def rollout(reward, cost, terminated=(), truncated=(), envs=1):
    """Of one environment, with the steps named that end an episode."""
    T = len(reward)
    ends = jnp.zeros((T, envs), bool)
    nothing = jnp.zeros((T, envs, 0))
    return Rollout(
        nothing,
        nothing,
        nothing,
        jnp.asarray(reward, jnp.float32)[:, None],
        jnp.asarray(cost, jnp.float32)[:, None, None],
        ends.at[jnp.array(terminated, int)].set(True),
        ends.at[jnp.array(truncated, int)].set(True),
    )


@jax.jit
def summarised(running, r, limits):
    running, totals = accumulate_totals(running, r)
    return running, episode_statistics(totals, running, r.done, r.truncated, limits)


def summary(r, running=None, limit=0.0):
    return summarised(no_totals(1, 1) if running is None else running, r, jnp.array([limit]))


def test_finished_episodes_are_summed_and_the_running_one_is_left_out():
    _, s = summary(rollout([1, 1, 1, 5], [0.0, 0.3, 0.1, 0.9], terminated=[1], truncated=[2]))
    assert (int(s.finished), float(s.count)) == (2, 2.0)
    assert_allclose(s.reward, (2 + 1) / 2)
    assert_allclose(s.cost, [(0.3 + 0.1) / 2], rtol=1e-6)
    assert_allclose(s.max_cost, [(0.3 + 0.1) / 2], rtol=1e-6)
    assert_allclose(s.max_cost_squared, [(0.09 + 0.01) / 2], rtol=1e-6)
    assert_allclose(s.variance, [0.01], rtol=1e-4)
    assert_allclose(s.length, 1.5)
    assert_allclose(s.timeout_rate, 0.5)


def test_an_episode_continues_in_the_next_rollout():
    running, _ = summary(rollout([1, 2], [0.4, 0.1]))
    assert_allclose(running.max_cost, [[0.4]])
    _, s = summary(rollout([3, 9], [0.2, 0.0], terminated=[0]), running)
    assert_allclose([s.reward, s.cost[0], s.max_cost[0], s.length], [6.0, 0.7, 0.4, 3.0], rtol=1e-6)


def test_without_finished_episodes_the_running_ones_are_used():
    _, s = summary(rollout([1, 1], [0.5, 0.2]))
    assert (int(s.finished), float(s.count)) == (0, 1.0)
    assert_allclose([s.reward, s.max_cost[0], s.length, s.violation_rate], [2.0, 0.5, 2.0, 1.0])


def test_an_episode_at_its_limit_does_not_violate_it():
    r = rollout([0, 0], [0.5, 0.6], terminated=[0, 1])
    assert_allclose(summary(r, limit=0.5)[1].violation_rate, 0.5)
    assert_allclose(summary(r, limit=0.5)[1].violation_rates, [0.5])


def test_an_episode_whose_cost_is_not_a_number_violates_its_limit():
    r = rollout([0, 0, 0], [jnp.nan, 0.0, 0.0], terminated=[1, 2])
    assert_allclose(summary(r, limit=0.5)[1].violation_rate, 0.5)


def test_one_violated_limit_of_two_makes_an_episode_violating():
    r = rollout([0], [0.0], terminated=[0])
    cost = jnp.array([0.0, 1.0])[None, None]
    r = Rollout(r.observation, r.next_observation, r.action, r.reward, cost, r.terminated, r.truncated)
    _, s = summarised(no_totals(1, 2), r, jnp.zeros(2))
    assert_allclose(s.violation_rates, [0.0, 1.0])
    assert_allclose(s.violation_rate, 1.0)


def test_totals_are_the_same_when_compiled():
    r = rollout([1, 1, 1], [0.0, 0.3, 0.1], terminated=[1])
    plain, compiled = accumulate_totals(no_totals(1, 1), r), jax.jit(accumulate_totals)(no_totals(1, 1), r)
    for a, b in zip(jax.tree.leaves(plain), jax.tree.leaves(compiled), strict=True):
        assert_allclose(a, b)


def test_quantiles_are_those_of_the_finished_episodes():
    """Of 0.01, …, 0.20, one step each: half of them are at most 0.10, 95 % at most 0.19. The running one has 9."""
    costs = [i / 100 for i in range(1, 21)]
    _, s = summary(rollout([0.0] * 21, [*costs, 9.0], terminated=list(range(20))))
    assert_allclose(s.quantiles[:, 0], [0.10, 0.15, 0.18, 0.19, 0.20], rtol=1e-5)


def test_without_a_finished_episode_quantiles_are_of_the_running_ones():
    _, s = summary(rollout([1, 1], [0.5, 0.2]))
    assert_allclose(s.quantiles[:, 0], 0.5)


def test_totals_begin_at_zero():
    totals = no_totals(2, 3)
    assert_allclose(totals.reward, [0.0, 0.0])
    assert_allclose(totals.length, [0, 0])
    assert_allclose(totals.cost, jnp.zeros((2, 3)))
    assert_allclose(totals.max_cost, jnp.zeros((2, 3)))


def test_without_a_finished_episode_every_running_one_counts_and_none_timed_out():
    """Of two environments: means over both, and quantiles of both."""
    cost = jnp.array([[[0.5], [0.0]], [[0.25], [0.125]]])
    r = Rollout(*[jnp.zeros((2, 2, 0))] * 3, jnp.array([[1.0, 2.0], [3.0, 4.0]]), cost, *[jnp.zeros((2, 2), bool)] * 2)
    _, s = summarised(no_totals(2, 1), r, jnp.array([0.25]))
    assert_allclose([s.count, s.reward, s.length, s.timeout_rate], [2.0, 5.0, 2.0, 0.0])
    assert_allclose([s.cost[0], s.max_cost[0], s.max_cost_squared[0]], [0.4375, 0.3125, (0.25 + 0.015625) / 2])
    assert_allclose([s.violation_rate, s.violation_rates[0]], [0.5, 0.5])
    assert_allclose(s.quantiles[:, 0], [0.125, 0.5, 0.5, 0.5, 0.5])


def test_a_variance_is_never_below_zero():
    _, s = summary(rollout([0.0] * 3, [0.1, 0.1, 0.1], terminated=[0, 1, 2]))
    assert float(s.variance[0]) >= 0.0


def test_quantiles_are_at_the_levels_that_the_log_names():
    assert LEVELS == (50, 75, 90, 95, 99)
