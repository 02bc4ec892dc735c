"""A tabular MDP is checked when it is made, and so is every policy."""

from dataclasses import replace

import jaxtyping
import numpy as np
import pytest
from numpy.testing import assert_allclose

from .helpers import ONLY_ACTION, coins

COINS = coins(horizon=3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"P": np.full((2, 1, 3), 1 / 3)}, "axes"),
        ({"P": np.eye(2)}, "axes"),
        ({"D": np.zeros((2, 2, 2))}, "one cost"),
        ({"mu": np.ones(1)}, "2 states"),
        ({"D": np.full((2, 1, 2), np.inf)}, "not finite"),
        ({"P": np.full((2, 1, 2), 0.6)}, r"P\[s, a\] is not a distribution"),
        ({"mu": np.array([1.5, -0.5])}, "mu is not a distribution"),
        ({"mu": np.array([np.nan, 1.0])}, "mu is not a distribution"),
        ({"horizon": 0}, "at least one step"),
        ({"gamma": 0.0}, "gamma"),
        ({"gamma": 1.1}, "gamma"),
    ],
)
def test_invalid_mdps_are_refused_with_a_reason(wrong, message, monkeypatch):
    # The tests' own shape checks come first; a user does not have them.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ValueError, match=message):
        replace(COINS, **wrong)


@pytest.mark.parametrize(
    ("pi", "message"),
    [
        (np.full((2, 1), 0.9), "not a distribution"),
        (np.full((2, 2), 0.5), r"\(state, action\) = \(2, 1\)"),
    ],
)
def test_invalid_policies_are_refused_with_a_reason(pi, message):
    with pytest.raises(ValueError, match=message):
        COINS.chain(pi)


def test_the_arrays_are_copies_that_cannot_be_written():
    mu = np.array([1.0, 0.0])
    mdp = replace(COINS, mu=mu)
    mu[:] = 0.5
    assert_allclose(mdp.mu, [1.0, 0.0])
    with pytest.raises(ValueError, match="read-only"):
        mdp.mu[0] = 0.5


def test_an_expectation_is_over_action_and_next_state():
    mdp = replace(COINS, P=np.array([[[1.0, 0.0], [0.5, 0.5]]] * 2), D=np.zeros((2, 2, 2)))
    f = np.array([[[1.0, 9.0], [2.0, 4.0]]] * 2)
    pi = np.array([[1.0, 0.0], [0.25, 0.75]])
    assert_allclose(mdp.expect(pi, f), [1.0, 0.25 * 1 + 0.75 * 3])
    assert_allclose(mdp.chain(pi), [[1.0, 0.0], [0.625, 0.375]])


def test_all_episodes_can_be_made_to_start_in_one_state():
    assert_allclose(COINS.starting_in(1).mu, [0.0, 1.0])
    assert_allclose(COINS.chain(ONLY_ACTION), 0.5)
