"""How often a run gets a false certificate after any number of looks, if its true probability is just too low."""

import numpy as np
import pytest

from ascpo.evaluation.bound import spent_error
from benchmarks.coverage import joint_error, new_rule, old_rule, simulated_errors

SIZES = range(2000, 3001, 500)
SEQUENCES = 20_000


@pytest.mark.parametrize("looks", [1, 2, 5, 10])
def test_looking_until_the_first_success_deceives_no_more_often_than_stated(looks):
    """Computed exactly, and not far below what may be spent."""
    assert 0.8 * sum(spent_error(0.05, k) for k in range(1, looks + 1)) < joint_error(new_rule, looks, SIZES) <= 0.05


def test_the_rule_of_format_1_deceives_more_often_than_it_says():
    assert joint_error(old_rule, 1, SIZES) <= 0.05
    assert joint_error(old_rule, 2, SIZES) > 0.06
    assert joint_error(old_rule, 10, SIZES) > 0.12


def test_planning_the_next_look_by_the_last_count_deceives_no_more_often():
    """The deviation of such a share is at most √(0.05·0.95/20000) = 0.0015."""
    found = simulated_errors(new_rule, SEQUENCES, SIZES)
    assert max(found.values()) <= 0.05 + 3 * 0.0016
    assert np.all(np.diff(list(found.values())) > 0)
    assert simulated_errors(old_rule, SEQUENCES, SIZES)[10] > 0.09, "the simulation can see it"


def test_all_looks_together_spend_no_more_than_the_error():
    spent = sum(spent_error(0.05, look) for look in range(1, 20_001))
    assert 0.04999 < spent < 0.05
    with pytest.raises(ValueError, match="counted from 1"):
        spent_error(0.05, 0)
