"""The standing of an algorithm in a suite, with seeds for which the truth is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ascpo.evaluation.intervals import of_means
from ascpo.paper.printed import COPIES, J_R, M_C, TIMEOUTS
from ascpo.paper.standing import printed_lowest, spread, standing_notes, standing_table, standings

POINT, ANT = "Point-8-Hazard", "Ant-8-Hazard"


def numbers(costs, J_r=2.4, timeouts=0.0):
    """Seeds with these costs."""
    costs = np.array(costs, float)
    constants = {J_R.name: J_r, TIMEOUTS.name: timeouts}
    return {M_C.name: costs} | {name: np.full(len(costs), x) for name, x in constants.items()}


def spread_by(deviation, mean=0.1):
    """Two seeds whose logarithms have this standard deviation."""
    return mean * np.exp(np.array([-1, 1]) * deviation / np.sqrt(2))


def test_the_spread_is_the_pooled_deviation_of_the_logarithms():
    groups = {(POINT, "ascpo"): numbers(spread_by(0.3)), (POINT, "cpo"): numbers(spread_by(0.4, mean=2.0))}
    pooled = spread(groups | {(POINT, "trpo"): numbers([7.0])})
    assert pooled.freedom == 2
    assert_allclose(pooled.deviation, np.sqrt((0.3**2 + 0.4**2) / 2))


def test_single_seeds_have_no_spread():
    assert spread({(POINT, "ascpo"): numbers([0.1]), (POINT, "cpo"): numbers([0.2])}) is None


def test_policies_that_park_add_nothing_to_the_spread():
    arriving = {(POINT, "ascpo"): numbers(spread_by(0.3))}
    assert spread(arriving | {(POINT, "trpo-ipo"): numbers(spread_by(3.0), timeouts=0.5)}) == spread(arriving)


# Student's quantile of 97.5 % with ten degrees of freedom is 2.228. Two seeds against one: an error of s √1.5.
@pytest.mark.parametrize(("ratio", "within"), [(0.99, True), (1.01, False)])
def test_an_interval_with_a_known_deviation_reaches_as_far_as_students_quantile(ratio, within):
    s = 0.5
    x = np.full(2, ratio * 2.2281388 * s * np.sqrt(1.5))
    found = of_means(x, [0.0], s, 10)
    assert found.value == pytest.approx(x[0])
    assert (found.low <= 0) == within


@pytest.mark.parametrize(
    ("mine", "place"), [([0.09, 0.09], "lowest"), ([0.1, 0.1], "lowest"), ([0.11, 0.11], "level"), ([1, 1], "behind")]
)
def test_an_algorithm_is_lowest_level_or_behind(mine, place):
    samples = {(POINT, "ascpo"): numbers(mine), (POINT, "cpo"): numbers([0.1]), (POINT, "trpo"): numbers([5.0])}
    # Another suite tells that seeds differ by a third.
    samples |= {(ANT, name): numbers(spread_by(0.3)) for name in ("cpo", "scpo", "trpo", "pcpo")}
    (one,) = standings(samples, "ascpo")
    assert (one.suite, one.rival, one.place) == (POINT, "cpo", place)


@pytest.mark.parametrize(("seeds", "place"), [(5, "level"), (6, "behind")])
def test_a_suite_with_enough_seeds_is_judged_by_its_own_spread(seeds, place):
    # Five seeds of one other algorithm leave four degrees of freedom, six leave five.
    alike = numbers(np.exp(0.1 * np.linspace(-1, 1, seeds)))
    samples = {(POINT, "ascpo"): numbers([0.2]), (POINT, "cpo"): numbers([0.1]), (POINT, "trpo"): alike}
    samples |= {(ANT, name): numbers(spread_by(1.0)) for name in ("cpo", "scpo", "trpo", "pcpo")}
    (one,) = standings(samples, "ascpo")
    assert one.place == place


def test_a_lower_cost_is_not_judged_without_a_second_seed():
    (one,) = standings({(POINT, "ascpo"): numbers([0.2]), (POINT, "cpo"): numbers([0.1])}, "ascpo")
    assert one.place is None


def test_policies_that_park_do_not_count():
    samples = {
        (POINT, "ascpo"): numbers([0.1]),
        (POINT, "trpo-ipo"): numbers([0.0], timeouts=0.051),
        (POINT, "cpo"): numbers([0.2], timeouts=0.049),
    }
    (one,) = standings(samples, "ascpo")
    assert (one.rival, one.place) == ("cpo", "lowest")
    (alone,) = standings({key: samples[key] for key in [(POINT, "ascpo"), (POINT, "trpo-ipo")]}, "ascpo")
    assert (alone.rival, alone.place) == (None, None)


# Printed: J_r 2.48, M_c 0.0413.
@pytest.mark.parametrize(
    ("J_r", "M_c", "expected"),
    [(2.381, 0.04134, (True, True)), (2.379, 0.0414, (False, False))],
)
def test_figures_count_as_the_printed_ones_within_a_tenth_and_four_digits(J_r, M_c, expected):
    (one,) = standings({(POINT, "ascpo"): numbers([M_c], J_r)}, "ascpo")
    assert (one.returns_as_printed("ascpo"), one.costs_as_printed("ascpo")) == expected


def test_in_print_ascpo_is_lowest_in_sixteen_of_nineteen_suites():
    assert printed_lowest("ascpo") == (16, 19)


def test_the_table_and_the_notes_say_the_same():
    suites = (POINT, ANT, COPIES[0])
    samples = {(suite, "ascpo"): numbers([0.2, 0.2]) for suite in suites}
    samples |= {(suite, "cpo"): numbers(cost) for suite, cost in zip(suites, ([0.3], [0.19], [0.001]), strict=True)}
    found = standings(samples, "ascpo")
    table = standing_table(found, "ascpo", "title")
    assert [row[0] for row in table.cells()] == [POINT, ANT, f"{COPIES[0]}*"]
    assert [row[-1] for row in table.cells()] == ["lowest", "behind", "behind"]
    assert table.cells()[0][1:-1] == ["2.400 ± 0.000", "2.480", "0.2000 ± 0.0000", "0.0413", "cpo", "0.3000"]
    returns, costs, how = standing_notes(found, "ascpo", found[0].spread)
    assert "in 3 of 3 suites, M_c at or below the printed one in 2." in returns
    assert "the lowest in 1 of 3 suites, level with the lowest in 0 and behind in 2" in costs
    assert how.endswith("differ by a factor of 1 (one standard deviation, from 3 degrees of freedom).")


def test_the_notes_say_how_far_the_spreads_of_single_suites_differ():
    samples = {(POINT, "ascpo"): numbers([0.1])}
    samples |= {(POINT, name): numbers(spread_by(0.5)) for name in ("cpo", "scpo", "trpo", "pcpo", "trpo-fac")}
    samples |= {(ANT, name): numbers(spread_by(0.1)) for name in ("ascpo", "cpo")}
    *_, how = standing_notes(standings(samples, "ascpo"), "ascpo", spread(samples))
    assert how.endswith("from 7 degrees of freedom), by 1.6 to 1.6 in suites that have 5 or more of their own.")
