"""What mean and variance guarantee about a cost, and what they do not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ascpo.theory import (
    Law,
    confidence_of_deviation,
    confidence_of_variance,
    deviation_bound,
    k_for,
    kappa_for,
    law_of_return,
    maximum_mdp,
    moment_bound,
    turning_point,
    variance_bound,
)

from .helpers import TOLERANCE, changes, steady

factors = st.floats(0.0, 20.0)
probabilities = st.floats(0.01, 0.99)


@st.composite
def laws(draw, *, least=-5.0):
    values = draw(st.lists(st.floats(least, 5.0), min_size=1, max_size=6, unique=True))
    weights = np.array(draw(st.lists(st.integers(1, 50), min_size=len(values), max_size=len(values))), float)
    return Law(np.sort(values), weights / weights.sum())


def coin(p: float) -> Law:
    return Law(np.array([0.0, 1.0]), np.array([1 - p, p]))


@steady
@given(laws(), factors)
def test_k_variances_above_the_mean_are_exceeded_no_more_often_than_proposition_1_says(law, k):
    sure = law.at_most(variance_bound(law.mean, law.variance, k))
    assert sure >= confidence_of_variance(law.variance, k) - TOLERANCE


@steady
@given(laws(), factors)
def test_kappa_deviations_above_the_mean_are_exceeded_no_more_often_than_cantelli_says(law, kappa):
    assert law.at_most(deviation_bound(law.mean, law.variance, kappa)) >= confidence_of_deviation(kappa) - TOLERANCE


@steady
@given(laws(), factors)
def test_the_moment_bound_is_at_least_the_variance_bound_and_its_guarantee(law, k):
    bound = moment_bound(law.mean, law.second_moment, k)
    assert bound >= variance_bound(law.mean, law.variance, k) - TOLERANCE
    assert law.at_most(bound) >= confidence_of_variance(law.variance, k) - TOLERANCE


@steady
@given(changes(gamma=st.just(1.0), max_horizon=4, least_cost=0), factors)
def test_the_largest_cost_of_an_episode_satisfies_cantellis_inequality(change, k):
    worst = maximum_mdp(change.mdp)
    law = law_of_return(worst.mdp, worst.lift(change.old))
    sure = law.at_most(variance_bound(law.mean, law.variance, k))
    assert sure >= confidence_of_variance(law.variance, k) - TOLERANCE


@given(st.floats(0.05, 0.95))
@steady
def test_cantellis_inequality_is_tight_for_a_coin(p):
    """κ = (1−p)/√(p(1−p)) puts the bound at 1; anything less and heads, with all of its probability p, is above."""
    law, kappa = coin(p), np.sqrt((1 - p) / p)
    assert deviation_bound(law.mean, law.variance, kappa) == pytest.approx(1.0)
    assert law.at_most(deviation_bound(law.mean, law.variance, kappa * (1 - 1e-6))) == pytest.approx(
        confidence_of_deviation(kappa)
    )


@pytest.mark.parametrize(
    ("variance", "confidence"), [(0.001, 0.05), (0.01, 0.33), (0.0225, 0.52), (0.1, 0.83), (1.0, 0.98)]
)
def test_seven_variances_guarantee_little_if_the_variance_is_small(variance, confidence):
    assert confidence_of_variance(variance, 7.0) == pytest.approx(confidence, abs=0.005)


def test_no_depth_of_at_most_30_cm_has_a_variance_above_0_0225():
    """Half of the episodes at 0 and half at 0.3 m: seven variances guarantee 52 %, and no other law gives more."""
    law = Law(np.array([0.0, 0.3]), np.array([0.5, 0.5]))
    assert law.variance == pytest.approx(0.0225)
    assert confidence_of_variance(law.variance, 7.0) == pytest.approx(1 - 1 / (1 + 49 * 0.0225))


def test_seven_deviations_guarantee_98_percent_in_any_unit():
    assert confidence_of_deviation(7.0) == pytest.approx(0.98)


@given(probabilities, st.floats(1e-4, 10.0))
@steady
def test_factors_and_confidences_are_inverse(p, variance):
    assert confidence_of_deviation(kappa_for(p)) == pytest.approx(p)
    assert confidence_of_variance(variance, k_for(p, variance)) == pytest.approx(p)


def test_a_cost_without_variance_is_certain_and_k_0_guarantees_nothing():
    assert confidence_of_variance(0.0, 7.0) == 1.0
    assert confidence_of_variance(0.5, 0.0) == 0.0
    assert Law(np.array([0.2]), np.array([1.0])).at_most(variance_bound(0.2, 0.0, 7.0)) == 1.0


def test_beyond_the_turning_point_a_likelier_violation_has_a_lower_variance_bound():
    assert turning_point(7.0) == pytest.approx(4 / 7)

    def bound(p):
        return variance_bound(coin(p).mean, coin(p).variance, 7.0)

    assert bound(0.5) < bound(4 / 7) > bound(0.6) > bound(0.9) > bound(1.0)
    assert bound(1.0) == 1.0


@given(st.floats(0.1, 1.0))
@steady
def test_up_to_k_1_the_variance_bound_of_a_coin_never_falls(k):
    assert turning_point(k) == 1.0
    bounds = [variance_bound(p, p * (1 - p), k) for p in np.linspace(0, 1, 21)]
    assert np.all(np.diff(bounds) >= -1e-12)


@given(laws(least=0.0), st.lists(st.floats(0.0, 3.0), min_size=6, max_size=6), factors)
@steady
def test_the_moment_bound_grows_whenever_a_cost_does(law, rises, k):
    worse = law.values + np.array(rises[: len(law.values)])
    bounds = [moment_bound(law.probabilities @ v, law.probabilities @ v**2, k) for v in (law.values, worse)]
    assert bounds[0] <= bounds[1] + TOLERANCE


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kappa_for(1.0), "infinite"),
        (lambda: kappa_for(0.0), r"\(0, 1\)"),
        (lambda: k_for(0.9, 0.0), "any k is certain"),
        (lambda: confidence_of_deviation(-1.0), "Below the mean"),
        (lambda: confidence_of_variance(-1e-3, 7.0), "at least 0"),
        (lambda: turning_point(0.0), "positive"),
    ],
)
def test_impossible_arguments_are_refused_with_a_reason(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_bounds_follow_their_formulas():
    assert_allclose(
        [f(1.0, x, 7.0) for f, x in ((variance_bound, 4.0), (deviation_bound, 4.0), (moment_bound, 5.0))], [29, 15, 36]
    )
