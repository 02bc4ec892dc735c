"""Episode means from all steps equal those of a long run, whatever the horizon."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from ascpo.engines.contract import Rollout
from ascpo.experience.augmentation import running_maximum, running_sum
from ascpo.experience.episodes import accumulate_totals, episode_statistics, no_totals
from ascpo.experience.signals import Costs
from ascpo.experience.trend import episode_sums, no_trend

LIMIT = jnp.array([0.5])


@partial(jax.jit, static_argnums=(3, 4))
def after(trend, running, rollout, smoothing, kind):
    maxima = running_maximum(rollout.cost, rollout.done, running.max_cost)
    sums = running_sum(rollout.cost, rollout.done, running.cost)
    costs = Costs(rollout.cost, *maxima, LIMIT, *sums, jnp.zeros(1))
    running, totals = accumulate_totals(running, rollout)
    found = episode_sums(costs, rollout, kind)
    finished = episode_statistics(totals, running, rollout.done, rollout.truncated, LIMIT, kind)
    return trend.after(found, totals, smoothing), running, finished


def rollouts(cost, ends, horizon, truncated=None):
    """Steps (time, env) in pieces of a horizon."""
    nothing = jnp.zeros((horizon, cost.shape[1], 0))
    late = np.zeros_like(ends) if truncated is None else truncated
    for t in range(0, len(cost), horizon):
        piece = slice(t, t + horizon)
        yield Rollout(
            nothing,
            nothing,
            nothing,
            jnp.zeros((horizon, cost.shape[1])),
            jnp.asarray(cost[piece], jnp.float32)[..., None],
            jnp.asarray(ends[piece] & ~late[piece]),
            jnp.asarray(late[piece]),
        )


def measured(cost, ends, horizon, smoothing=0.7, kind="state", truncated=None):
    """The trend after all pieces, and what each piece's finished episodes say."""
    trend, running, finished = no_trend(1), no_totals(cost.shape[1], 1), []
    for rollout in rollouts(cost, ends, horizon, truncated):
        trend, running, statistics = after(trend, running, rollout, smoothing, kind)
        finished.append(statistics)
    return trend, finished


def test_the_trend_of_whole_episodes_is_their_mean():
    """Two episodes of two steps: sums 0.75 and 1, largest 0.5 and 1; one is over the limit and runs out of time."""
    cost = np.array([[0.25], [0.5], [1.0], [0.0]])
    ends = np.array([[False], [True], [False], [True]])
    late = np.array([[False], [False], [False], [True]])
    trend, _ = measured(cost, ends, 4, truncated=late)
    assert_allclose(trend.length, 2.0)
    assert_allclose(trend.mean(trend.sums.cost), [0.875])
    assert_allclose(trend.mean(trend.sums.max_cost), [0.75])
    assert_allclose(trend.mean(trend.sums.max_cost_squared), [(0.25 + 1.0) / 2])
    assert_allclose(trend.violation_rates, [0.5])
    assert_allclose(trend.timeout_rate, 0.5)


def test_a_limit_of_an_episode_bounds_its_sum_of_costs():
    cost, ends = np.array([[0.25], [0.5], [0.25], [0.0]]), np.array([[False], [True], [False], [True]])
    assert_allclose(measured(cost, ends, 4)[0].violation_rates, [0.0])
    assert_allclose(measured(cost, ends, 4, kind="episode")[0].violation_rates, [0.5])


@pytest.mark.parametrize("horizon", [1, 6])
def test_an_episode_whose_sum_is_over_its_limit_for_a_while_counts_as_it_ends(horizon):
    """Sums of three episodes: 0.75, 0, 1 ends over; 1, 0 within; 0.75 over. Logs and feedback count two of three."""
    cost = np.array([[0.75], [-0.75], [1.0], [1.0], [-1.0], [0.75]])
    ends = np.array([[False], [False], [True], [False], [True], [True]])
    trend, finished = measured(cost, ends, horizon, smoothing=1.0, kind="episode")
    assert_allclose(trend.violation_rates, [2 / 3], rtol=1e-6)
    assert_allclose(sum(np.where(each.finished, each.violation_rates[0] * each.count, 0.0) for each in finished), 2.0)


def test_epochs_are_weighted_by_their_steps_and_the_smoothing():
    """Costs of 1 and 0 per step in episodes of one step: (0.5·4·1 + 4·0) / (0.5·4 + 4)."""
    cost, ends = np.repeat([[1.0], [0.0]], 4, axis=0), np.ones((8, 1), bool)
    assert_allclose(measured(cost, ends, 4, smoothing=0.5)[0].mean(jnp.array([1.0]) * 2.0), [2.0 / 6.0])
    trend, _ = measured(cost, ends, 4, smoothing=0.5)
    assert_allclose(trend.mean(trend.sums.cost), [2.0 / 6.0])


def two_kinds(envs=40, steps=8000, seed=0):
    """Half of the episodes end after 20 steps with a cost of 1, the others after 500 without any."""
    rng = np.random.default_rng(seed)
    cost, ends = np.zeros((steps, envs)), np.zeros((steps, envs), bool)
    for env in range(envs):
        t = 0
        while t < steps:
            quick = rng.random() < 0.5
            t += 20 if quick else 500
            if t <= steps:
                cost[t - 1, env], ends[t - 1, env] = float(quick), True
    return cost, ends


def test_with_short_horizons_unfinished_episodes_count_too():
    """The mean cost is ½. In the first epochs of 50 steps, all episodes that finish have a cost of 1."""
    cost, ends = two_kinds()
    _, finished = measured(cost[:250], ends[:250], 50)
    assert_allclose([float(each.cost[0]) for each in finished[:2]], 1.0)
    early, _ = measured(cost[:250], ends[:250], 50)
    assert float(early.mean(early.sums.cost)[0]) < 0.75
    late, _ = measured(cost, ends, 50, smoothing=1.0)
    assert float(late.mean(late.sums.cost)[0]) == pytest.approx(0.5, abs=0.1)
    assert float(late.length) == pytest.approx(260, rel=0.15)


def test_the_scale_of_an_episode_does_not_depend_on_how_many_happen_to_finish():
    """All environments finish in every fifth epoch, at once: episodes of 250 steps, epochs of 50."""
    ends = np.zeros((1000, 8), bool)
    ends[249::250] = True
    trend, running, counts = no_trend(1), no_totals(8, 1), []
    for rollout in rollouts(np.zeros((1000, 8)), ends, 50):
        trend, running, _ = after(trend, running, rollout, 0.9, "state")
        counts.append(float(rollout.done.size / trend.length))
    # 50 · 8 steps are 1.6 episodes; once five epochs have passed, none is far from that.
    assert_allclose(counts[5:], 1.6, rtol=0.35)


def test_an_empty_trend_has_no_nan():
    trend = no_trend(2)
    for number in (trend.length, trend.violation_rates, trend.timeout_rate, trend.nu, trend.mean(trend.sums.cost)):
        assert np.all(np.isfinite(number))
