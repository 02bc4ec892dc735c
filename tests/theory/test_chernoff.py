import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascpo.theory import law_of_return, maximum_mdp
from ascpo.theory.chernoff import chernoff_bound, chernoff_weight
from tests.theory.helpers import changes, steady

TAUS, CAPS = st.sampled_from([0.1, 1.0, 5.0]), st.sampled_from([1.0, 2.0, 100.0])


@steady
@given(changes(gamma=st.just(1.0), max_horizon=3, least_cost=0), TAUS, CAPS, st.sampled_from([0.0, 0.5, 2.0]))
def test_the_chernoff_bound_is_at_least_the_probability_of_a_violation(change, tau, cap, w):
    """Of a tabular problem, whose law of the largest cost is known exactly. A shift of 1 makes some costs negative."""
    augmented = maximum_mdp(change.mdp)
    law = law_of_return(augmented.mdp, augmented.lift(change.new))
    signed, limit = law.values - 1.0, w - 1.0
    bound = chernoff_bound(signed, law.probabilities, limit, tau=tau, cap=cap, h=1.0)
    assert bound >= law.probabilities[signed > limit].sum() - 1e-9


def test_the_chernoff_bound_tends_to_the_probability_as_tau_falls():
    values, probabilities = np.array([-0.2, -0.01, 0.3]), np.array([0.5, 0.4, 0.1])
    bounds = [chernoff_bound(values, probabilities, 0.0, tau=tau, cap=1.0, h=0.3) for tau in (1.0, 0.1, 0.01, 0.001)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] == pytest.approx(0.1, abs=1e-4)


def test_the_chernoff_bound_falls_when_a_safe_episode_keeps_further_away():
    weight = chernoff_weight(np.array([-0.3, -0.2, -0.1, 0.0, 0.1, 9.0]), 0.0, tau=0.1, cap=2.0, h=0.3)
    np.testing.assert_allclose(weight, [0.0, np.exp(-2), np.exp(-1), 1.0, 2.0, 2.0])


@pytest.mark.parametrize("wrong", [{"tau": 0.0}, {"cap": 0.5}, {"h": -0.1}])
def test_parameters_that_give_no_bound_are_refused(wrong):
    with pytest.raises(ValueError, match="needs tau"):
        chernoff_weight(np.zeros(1), 0.0, **({"tau": 0.1, "cap": 1.0, "h": 0.1} | wrong))
