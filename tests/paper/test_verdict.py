"""The rule that turns an interval into a verdict."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascpo.evaluation.intervals import Interval
from ascpo.paper.verdict import verdict

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
def test_the_rule_of_verdicts_is_the_documented_one(effect, printed, expected):
    assert verdict(effect, printed) == expected


@given(st.lists(NUMBERS, min_size=3, max_size=3).map(sorted), st.none() | st.floats(0.01, 5))
def test_a_result_shown_for_one_side_is_refuted_for_the_other(three, printed):
    low, value, high = three
    effect = Interval(value, low, high)
    if low > 0:
        assert verdict(effect, printed) in ("reproduced", "weaker")
        assert verdict(effect.map(lambda x: -x), printed) == "not reproduced"
    if low <= 0 < high:
        assert verdict(effect, printed) in ("undecided", "not reproduced")
