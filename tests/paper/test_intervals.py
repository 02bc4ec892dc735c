"""Intervals, and the rule that turns them into a verdict."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ascpo.paper.intervals import Interval, of_difference, of_draws, of_mean, verdict

NUMBERS = st.floats(-5, 5, allow_nan=False)


@pytest.mark.parametrize(
    ("effect", "printed", "expected"),
    [
        (Interval(1.0, 0.5, 1.5), 1.0, "reproduced"),
        (Interval(1.0, 0.5, 1.5), 2.0, "reproduced"),  # exactly half
        (Interval(1.0, 0.5, 1.5), 2.1, "weaker"),
        (Interval(0.1, -0.2, 0.4), 1.0, "not reproduced"),  # half of it is out of reach
        (Interval(0.1, -0.5, 0.7), 1.0, "undecided"),  # none, or half: both may be
        (Interval(-1.0, -1.5, -0.5), 1.0, "not reproduced"),
        (Interval(0.1, 0.05, 0.15), None, "reproduced"),
        (Interval(0.1, -0.05, 0.25), None, "undecided"),
        (Interval(-0.1, -0.2, 0.0), None, "not reproduced"),
        (None, 1.0, "undecided"),
    ],
)
def test_the_rule(effect, printed, expected):
    assert verdict(effect, printed) == expected


@given(st.lists(NUMBERS, min_size=3, max_size=3).map(sorted), st.none() | st.floats(0.01, 5))
def test_what_is_shown_for_one_side_is_refuted_for_the_other(three, printed):
    low, value, high = three
    effect = Interval(value, low, high)
    if low > 0:
        assert verdict(effect, printed) in ("reproduced", "weaker")
        assert verdict(effect.map(lambda x: -x), printed) == "not reproduced"
    if low <= 0 < high:
        assert verdict(effect, printed) in ("undecided", "not reproduced")


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


def test_seeds_that_agree_have_an_interval_of_no_width():
    assert of_difference([2.0, 2.0], [1.0, 1.0]) == Interval(1.0, 1.0, 1.0)


def test_draws_leave_out_a_fortieth_at_either_end():
    assert of_draws(0.5, np.linspace(0, 1, 1001)) == Interval(0.5, pytest.approx(0.025), pytest.approx(0.975))
