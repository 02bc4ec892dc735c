"""The law of the return: binomial for coins, and for anything else what all paths say."""

from collections import defaultdict
from math import comb

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from ascpo.theory import Law, TabularMDP, law_of_return

from .helpers import ONLY_ACTION, changes, coins, costs, paths, steady


def test_heads_among_n_coins_are_binomial():
    law = law_of_return(coins(horizon=5, heads=0.3), ONLY_ACTION)
    assert_allclose(law.values, range(6))
    assert_allclose(law.probabilities, [comb(5, j) * 0.3**j * 0.7 ** (5 - j) for j in range(6)])


def test_discounted_coins_tell_every_sequence_apart():
    law = law_of_return(coins(horizon=3, gamma=0.5), ONLY_ACTION)
    assert_allclose(law.values, np.arange(8) / 4)
    assert_allclose(law.probabilities, 1 / 8)


def test_sums_that_differ_only_by_rounding_are_one_value():
    # 0.1 + 0.2 and 0.2 + 0.1 + 0.0 and 0.3 are three floats for the same return.
    D = np.broadcast_to([0.1, 0.2, 0.3, 0.0], (4, 1, 4))
    mdp = TabularMDP(P=np.full((4, 1, 4), 0.25), D=D, mu=np.eye(4)[0], horizon=3)
    law = law_of_return(mdp, np.ones((4, 1)))
    assert_allclose(law.values, np.arange(10) / 10, atol=1e-12)
    assert law.probabilities.sum() == pytest.approx(1.0)


@steady
@given(changes(max_horizon=3))
def test_the_law_is_that_of_all_paths(change):
    mdp, discounts = change.mdp, change.mdp.gamma ** np.arange(change.mdp.horizon)
    expected = defaultdict(float)
    for probability, states, actions in paths(mdp, change.new):
        expected[round(float(discounts @ costs(mdp, states, actions)), 9)] += probability
    law = law_of_return(mdp, change.new)
    assert_allclose(law.values, sorted(expected), atol=1e-9)
    assert_allclose(law.probabilities, [expected[v] for v in sorted(expected)], atol=1e-12)


def test_a_law_has_its_moments_and_its_distribution():
    law = Law(np.array([0.0, 0.3]), np.array([0.75, 0.25]))
    assert law.mean == pytest.approx(0.075)
    assert law.second_moment == pytest.approx(0.0225)
    assert law.variance == pytest.approx(0.25 * 0.75 * 0.3**2)
    assert [law.at_most(x) for x in (-0.1, 0.0, 0.29, 0.1 + 0.2, 0.3)] == [0.0, 0.75, 0.75, 1.0, 1.0]
