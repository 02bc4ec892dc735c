"""The maximum MDP: its costs add up to the largest cost of the episode, and it is a Markov chain."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ascpo.theory import TabularMDP, law_of_return, maximum_mdp, mean, values

from .helpers import ONLY_ACTION, changes, coins, costs, paths, steady

nonnegative = changes(gamma=st.just(1.0), max_horizon=3, least_cost=0)

# Half of the cars turn home; the others come to the edge of a hazard, and from there go in, at a cost of 1.
START, EDGE, INSIDE, HOME = range(4)
TOWARDS_A_HAZARD = TabularMDP(
    P=np.array([[0, 0.5, 0, 0.5], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]], float)[:, None, :],
    D=np.broadcast_to(np.eye(4)[INSIDE], (4, 1, 4)),
    mu=np.eye(4)[START],
    horizon=4,
)


def test_the_maximum_of_n_coins_is_one_unless_all_are_tails():
    worst = maximum_mdp(coins(horizon=5, heads=0.3))
    law = law_of_return(worst.mdp, worst.lift(ONLY_ACTION))
    assert_allclose(law.values, [0.0, 1.0])
    assert_allclose(law.probabilities, [0.7**5, 1 - 0.7**5])


def test_the_states_of_the_maximum_mdp_are_pairs_of_states_and_levels():
    worst = maximum_mdp(TOWARDS_A_HAZARD)
    assert_allclose(worst.state, [START, START, EDGE, EDGE, INSIDE, INSIDE, HOME, HOME])
    assert_allclose(worst.maximum, [0, 1] * 4)
    assert_allclose(worst.mdp.mu, [1, 0, 0, 0, 0, 0, 0, 0])


@steady
@given(nonnegative)
def test_along_every_path_the_increments_add_up_to_the_largest_cost(change):
    worst = maximum_mdp(change.mdp)
    for _, states, actions in paths(worst.mdp, worst.lift(change.old)):
        s, D = worst.state[list(states)], costs(worst.mdp, states, actions)
        C = costs(change.mdp, s, actions)
        assert D.sum() == pytest.approx(C.max(), abs=1e-12)
        assert_allclose(worst.maximum[list(states)], np.append(0.0, np.maximum.accumulate(C)), atol=1e-12)


@steady
@given(nonnegative)
def test_along_every_path_the_remaining_increment_never_grows(change):
    worst = maximum_mdp(change.mdp)
    for _, states, actions in paths(worst.mdp, worst.lift(change.old)):
        cost_to_go = np.cumsum(costs(worst.mdp, states, actions)[::-1])[::-1]
        assert np.all(np.diff(cost_to_go) <= 1e-12)


def test_the_expected_remaining_increment_may_grow_on_the_way_to_a_hazard():
    worst = maximum_mdp(TOWARDS_A_HAZARD)
    V = values(worst.mdp, worst.lift(np.ones((4, 1))))
    at = {(s, M): i for i, (s, M) in enumerate(zip(worst.state, worst.maximum, strict=True))}
    assert V[4, at[START, 0.0]] == pytest.approx(0.5)
    assert V[3, at[EDGE, 0.0]] == pytest.approx(1.0)


@steady
@given(nonnegative)
def test_the_law_of_the_return_of_the_maximum_mdp_is_that_of_the_largest_cost(change):
    worst = maximum_mdp(change.mdp)
    expected = defaultdict(float)
    for probability, states, actions in paths(change.mdp, change.old):
        expected[float(costs(change.mdp, states, actions).max())] += probability
    law = law_of_return(worst.mdp, worst.lift(change.old))
    assert_allclose(law.values, sorted(expected), atol=1e-12)
    assert_allclose(law.probabilities, [expected[v] for v in sorted(expected)], atol=1e-12)


@steady
@given(nonnegative)
def test_state_and_running_maximum_are_sufficient_for_the_future(change):
    """Markov: after any history of the original chain, the law of the next pair is a row of the augmented chain."""
    mdp, worst = change.mdp, maximum_mdp(change.mdp)
    chain = worst.mdp.chain(worst.lift(change.old))
    at = {(s, M): i for i, (s, M) in enumerate(zip(worst.state, worst.maximum, strict=True))}
    after = defaultdict(lambda: np.zeros(worst.mdp.states))  # (states, actions) so far → law of the next pair
    for probability, states, actions in paths(mdp, change.old):
        C = costs(mdp, states, actions)
        after[states[:-1], actions[:-1]][at[states[-1], max(0.0, C.max())]] += probability
    for (states, actions), weights in after.items():
        M = float(costs(mdp, states, actions).max()) if actions else 0.0
        assert_allclose(weights / weights.sum(), chain[at[states[-1], M]], atol=1e-9)


@steady
@given(nonnegative)
def test_without_its_maximum_the_maximum_mdp_is_the_original_chain(change):
    worst = maximum_mdp(change.mdp)
    levels = worst.mdp.states // change.mdp.states
    P = worst.mdp.P.reshape(worst.mdp.states, worst.mdp.actions, change.mdp.states, levels).sum(axis=-1)
    assert_allclose(P, change.mdp.P[worst.state], atol=1e-12)


def test_a_policy_of_the_pairs_may_look_at_the_maximum():
    """Action 0 stays at cost 0, action 1 costs 1: the one who stops after the first cost has paid no less."""
    mdp = replace(coins(horizon=3), P=np.full((2, 2, 2), 0.5), D=np.array([[[0.0, 0.0], [1.0, 1.0]]] * 2))
    worst = maximum_mdp(mdp)
    careless = worst.lift(np.array([[0.5, 0.5]] * 2))
    careful = np.where(worst.maximum[:, None] > 0, [1.0, 0.0], careless)
    assert mean(worst.mdp, careless) == pytest.approx(1 - 0.5**3)
    assert mean(worst.mdp, careful) == pytest.approx(1 - 0.5**3)


def test_costs_that_cannot_happen_make_no_levels():
    mdp = replace(TOWARDS_A_HAZARD, D=np.where(TOWARDS_A_HAZARD.P > 0, TOWARDS_A_HAZARD.D, -7.0))
    assert set(maximum_mdp(mdp).maximum) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("wrong", "message"), [({"gamma": 0.9}, "undiscounted"), ({"D": np.full((4, 1, 4), -0.1)}, "negative")]
)
def test_mdps_without_a_maximum_mdp_are_refused_with_a_reason(wrong, message):
    with pytest.raises(ValueError, match=message):
        maximum_mdp(replace(TOWARDS_A_HAZARD, **wrong))
