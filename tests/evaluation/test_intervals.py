"""Confidence intervals of means."""

import numpy as np
import pytest
from scipy import stats

from ascpo.evaluation.intervals import Interval, of_difference, of_draws, of_mean, of_shares


def test_the_difference_of_means_has_welchs_interval():
    x, y = np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.6])
    theirs = stats.ttest_ind(x, y, equal_var=False).confidence_interval(0.95)
    ours = of_difference(x, y)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))
    assert ours.value == pytest.approx(7 / 3 - 0.55)


def test_a_mean_has_students_interval():
    x = np.array([1.0, 2.0, 4.0, 4.5])
    theirs = stats.ttest_1samp(x, 0).confidence_interval(0.95)
    assert (of_mean(x).low, of_mean(x).high) == pytest.approx((theirs.low, theirs.high))


def test_one_seed_has_no_interval():
    assert of_mean([1.0]) is None
    assert of_difference([1.0, 2.0], [3.0]) is None


def test_seeds_that_agree_have_an_interval_of_width_zero():
    assert of_difference([2.0, 2.0], [1.0, 1.0]) == Interval(1.0, 1.0, 1.0)


def test_an_interval_of_draws_leaves_out_a_fortieth_at_either_end():
    assert of_draws(0.5, np.linspace(0, 1, 1001)) == Interval(0.5, pytest.approx(0.025), pytest.approx(0.975))


def test_shares_without_a_single_violation_still_have_an_interval():
    # Wilson's upper end of 0 in 100 is z²/(n + z²) = 0.0370.
    never = np.zeros(100)
    found = of_shares(never, never)
    assert (found.low, found.value, found.high) == pytest.approx((-0.037, 0.0, 0.037), abs=1e-4)
