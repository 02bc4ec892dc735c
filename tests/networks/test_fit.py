from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.networks.critics import Critic
from ascpo.networks.fit import (
    CostFitSettings,
    FitBatch,
    _Rows,
    draw_rows,
    error,
    fit,
    keep_probability,
    optimiser,
)
from tests.slow import always

KEY = jax.random.key(0)
FIT = eqx.filter_jit(fit)
plain = partial(CostFitSettings, balance="none", window=1)
"""Every state of one epoch counts the same, unless said otherwise."""


def batch(T=64, E=4, positive_share=0.1, known=True):
    """Targets are 0.5 for observations above a threshold, else 0: easy to learn, and rare."""
    observation = jax.random.uniform(jax.random.key(3), (T, E, 2))
    positive = observation[..., 0] < positive_share
    every = jnp.full((T, E), known)
    return FitBatch(
        observation, 0.5 * positive[..., None].astype(jnp.float32), positive, jnp.zeros((T, E), bool), every
    )


def fitted(settings, batch, epochs=1, head="softplus", output_bias=-4.0):
    critic = Critic(2, 1, (16, 16), head=head, output_bias=output_bias, key=KEY)
    state = optimiser(settings).init(eqx.filter(critic, eqx.is_inexact_array))
    for i in range(epochs):
        critic, state, loss = FIT(critic, state, batch, jax.random.key(i), settings)
    return critic, loss


def test_without_balance_every_known_state_is_as_likely():
    assert_allclose(keep_probability(batch(), "none"), 1.0)


@pytest.mark.parametrize("balance", ["subsample", "weighted"])
def test_balanced_states_with_and_without_cost_are_drawn_as_often(balance):
    some = batch()
    keep = keep_probability(some, balance)
    assert_allclose(jnp.sum(keep * some.positive), jnp.sum(keep * ~some.positive), rtol=1e-5)


@pytest.mark.parametrize("balance", ["subsample", "weighted"])
def test_without_any_cost_every_state_counts_the_same(balance):
    assert_allclose(keep_probability(batch(positive_share=-1.0), balance), 1.0)


def test_where_costs_are_common_no_state_is_left_out():
    assert_allclose(keep_probability(batch(positive_share=0.9), "subsample"), 1.0)


@pytest.mark.parametrize("n", [100, 128])
@pytest.mark.parametrize("balance", ["none", "weighted"])
def test_minibatches_are_the_same_drawn_together_and_one_by_one(balance, n):
    keep, keys = keep_probability(batch(), balance), jax.random.split(KEY, 7)
    cumulative = jnp.cumsum(keep.ravel())

    @jax.jit
    def one(key):
        points = (jnp.arange(n) + jax.random.uniform(key, (n,))) / n * cumulative[-1]
        return jnp.clip(jnp.searchsorted(cumulative, points, side="right"), 0, keep.size - 1)

    together = jax.jit(draw_rows, static_argnums=2)(keep, keys, n)
    assert_array_equal(together, jnp.stack([one(key) for key in keys]))


@pytest.mark.parametrize("batch_size", [0, 128])
@pytest.mark.parametrize("balance", always(["none", "subsample", "weighted"], "weighted"))
@pytest.mark.parametrize("positive_share", always([-1.0, 0.1], -1.0))
def test_every_kind_of_fit_stays_finite(batch_size, balance, positive_share):
    settings = plain(iterations=5, batch_size=batch_size, balance=balance, monotone_weight=1.0)
    critic, loss = fitted(settings, batch(positive_share=positive_share))
    assert bool(jnp.isfinite(loss))
    assert bool(jnp.all(jnp.isfinite(critic(batch().observation))))


@pytest.mark.parametrize(
    "settings", [plain(batch_size=0), plain(batch_size=128), plain(batch_size=128, balance="weighted")]
)
def test_an_unbiased_fit_learns_the_mean(settings):
    some = batch()
    critic, _ = fitted(settings, some, epochs=25)
    assert_allclose(jnp.mean(critic(some.observation)), jnp.mean(some.target), rtol=0.25)


def test_subsampling_overestimates_if_observations_say_little():
    some = batch()
    blind = FitBatch(jnp.zeros_like(some.observation), some.target, some.positive, some.last, some.known)
    truth = float(jnp.mean(blind.target))
    biased, _ = fitted(plain(batch_size=128, balance="subsample"), blind, epochs=25)
    unbiased, _ = fitted(plain(batch_size=128, balance="weighted"), blind, epochs=25)
    assert float(jnp.mean(biased(blind.observation))) > 2 * truth
    assert_allclose(jnp.mean(unbiased(blind.observation)), truth, rtol=0.2)


def test_states_with_unknown_returns_are_not_learned_from():
    half = batch()
    known = half.known.at[:32].set(False)
    poisoned = FitBatch(half.observation, half.target.at[:32].set(100.0), half.positive, half.last, known)
    for batch_size in (0, 128):
        critic, _ = fitted(plain(batch_size=batch_size, iterations=80), poisoned, epochs=5)
        assert float(jnp.max(critic(half.observation))) < 1.0


def test_the_loss_is_that_of_a_worked_example():
    rows = _Rows(jnp.zeros((3, 1, 1)), jnp.zeros((3, 1, 1)), jnp.array([[True], [False]]))
    prediction = jnp.array([0.0, 1.0, 3.0])[:, None, None]
    weight = jnp.ones((3, 1))
    assert_allclose(error(prediction, rows, weight, 0.0), (0 + 1 + 9) / 3)
    # Only the first two are neighbours: the rise from 1 to 3 is between episodes.
    assert_allclose(error(prediction, rows, weight, 0.5), (0 + 1 + 9) / 3 + 0.5 * 1.0)


def test_falling_predictions_have_no_monotone_loss():
    rows = _Rows(jnp.zeros((2, 1, 1)), jnp.zeros((2, 1, 1)), jnp.array([[True]]))
    prediction = jnp.array([2.0, 1.0])[:, None, None]
    assert_allclose(error(prediction, rows, jnp.ones((2, 1)), 9.0), 2.5)


def test_the_monotone_loss_ignores_neighbours_in_different_episodes():
    rises = FitBatch(
        observation=jnp.zeros((2, 8, 2)).at[1].set(1.0),
        target=jnp.zeros((2, 8, 1)).at[1].set(1.0),
        positive=jnp.ones((2, 8), bool),
        last=jnp.ones((2, 8), bool),
        known=jnp.ones((2, 8), bool),
    )
    critic, _ = fitted(plain(batch_size=16, monotone_weight=100.0), rises, epochs=20, head="linear", output_bias=None)
    assert_allclose(critic(rises.observation)[..., 0], rises.target[..., 0], atol=0.1)
