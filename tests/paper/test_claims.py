"""Claims, assessed with seeds for which the truth is known."""

import numpy as np
import pytest

from ascpo.paper.claims import CLAIMS, COST, MEMORY, SECONDS, START, Claim, assess, claims_of, claims_of_table
from ascpo.paper.experiments import BOX_EPISODES, EXPERIMENTS, FIXED_STARTS, TABLE_ALGORITHMS, experiments
from ascpo.paper.printed import COPIES, J_R, M_C, MEASURES, RHO_C, printed, printed_value

POINT = "Point-8-Hazard"


def seeds(better, worse, measure=M_C, suite=POINT, names=("ascpo", "cpo")):
    return {(suite, n): {measure.name: np.array(x)} for n, x in zip(names, (better, worse), strict=True)}


def factor(times, spread=0.01, n=3):
    """Costs of two methods, one so many times the other."""
    noise = np.exp(spread * np.linspace(-1, 1, n))
    return 0.1 * noise, 0.1 * times * noise


# Printed: 0.1961 / 0.0413 = 4.75, of which half, in logarithms, is 2.18.
@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (seeds(*factor(4.75)), "reproduced"),
        (seeds(*factor(2.3)), "reproduced"),
        (seeds(*factor(2.0)), "weaker"),
        (seeds(*factor(1.0)), "not reproduced"),
        (seeds(*factor(0.5)), "not reproduced"),
        (seeds(*factor(4.75, spread=1.5)), "undecided"),
        (seeds(*factor(4.75, n=1)), "undecided"),
    ],
)
def test_a_claim_about_one_table_is_decided_by_its_seeds(samples, expected):
    assessed = assess(Claim("ascpo", "cpo", M_C, POINT), samples)
    assert assessed.verdict == expected
    assert assessed.printed == pytest.approx(0.1961 / 0.0413)


@pytest.mark.parametrize("times", [0.2, 0.7, 1.5, 4.0])
def test_swapping_the_sides_reverses_a_verdict(times):
    samples = seeds(*factor(times))
    one, other = (assess(Claim(*pair, M_C, POINT), samples) for pair in (("ascpo", "cpo"), ("cpo", "ascpo")))
    assert (one.verdict == "not reproduced") != (other.verdict == "not reproduced")
    assert one.ours.value * other.ours.value == pytest.approx(1.0)


def test_costs_of_zero_count_as_the_floor():
    assessed = assess(Claim("ascpo", "cpo", M_C, POINT), seeds([0.0, 0.0], [0.1, 0.1]))
    assert assessed.ours.value == pytest.approx(0.1 / M_C.floor)


@pytest.mark.parametrize(("returns", "expected"), [(2.40, "reproduced"), (2.36, "reproduced"), (2.0, "not reproduced")])
def test_a_return_may_be_five_per_cent_lower(returns, expected):
    noise = np.array([-0.01, 0.0, 0.01])
    samples = seeds(returns + noise, 2.42 + noise, J_R, names=("ascpo", "trpo"))
    assessed = assess(Claim("ascpo", "trpo", J_R, POINT, tolerance=0.05), samples)
    assert assessed.verdict == expected
    assert assessed.ours.value == pytest.approx(returns - 2.42)


@pytest.mark.parametrize(("times", "expected"), [(0.9, "reproduced"), (1.005, "reproduced"), (1.2, "not reproduced")])
def test_time_may_be_one_per_cent_more(times, expected):
    noise = np.array([0.999, 1.0, 1.001])
    samples = seeds(times * 2.0 * noise, 2.0 * noise, SECONDS, names=("ascpo", "trpo"))
    assessed = assess(Claim("ascpo", "trpo", SECONDS, POINT, tolerance=0.01), samples)
    assert assessed.verdict == expected
    assert assessed.ours.value == pytest.approx(times)


def test_start_states_are_compared_in_pairs():
    """Starts differ by far more than the methods do on each of them."""
    costs = np.array([0.1, 1.0, 10.0, 0.01, 100.0])
    samples = seeds(costs, 2 * costs, START, "Swimmer-1-Hazard", ("ascpo", "trpo"))
    claim = Claim("ascpo", "trpo", START, "Swimmer-1-Hazard")
    assert assess(claim, samples).verdict == "undecided"
    (paired,) = CLAIMS["histogram"]
    assert assess(paired, samples).verdict == "reproduced"


def test_over_suites_each_suite_counts_once_and_copied_tables_do_not():
    samples = {}
    for suite, times in (("Point-1-Hazard", 4.0), ("Point-4-Hazard", 4.1), (POINT, 3.9), (COPIES[0], 0.01)):
        samples |= seeds(*factor(times), suite=suite)
    assessed = assess(Claim("ascpo", "cpo", M_C), samples)
    assert assessed.ours.value == pytest.approx((4.0 * 4.1 * 3.9) ** (1 / 3))
    assert assessed.verdict == "reproduced"
    two = {key: value for key, value in samples.items() if key[0] != POINT}
    assert assess(Claim("ascpo", "cpo", M_C), two).verdict == "undecided"


def test_a_claim_knows_whether_it_has_runs():
    assert not assess(Claim("ascpo", "cpo", M_C, POINT), {}).has_runs
    assert assess(Claim("ascpo", "cpo", M_C, POINT), seeds([0.1], [0.2])).has_runs


def test_tables_have_claims_only_about_what_they_show():
    for suite in EXPERIMENTS["q1"].suites:
        for claim in claims_of_table(suite):
            if not claim.tolerance:
                pair = [printed_value(suite, name, claim.measure) for name in (claim.better, claim.worse)]
                assert pair[0] < pair[1]
    assert not any(claims_of_table(suite) for suite in COPIES)
    assert Claim("ascpo", "scpo", RHO_C, "Point-1-Hazard") not in claims_of_table("Point-1-Hazard")


@pytest.mark.parametrize("name", [*EXPERIMENTS, "q1-Point-8-Hazard"])
def test_claims_use_only_measured_quantities(name):
    (experiment,) = experiments(name)
    names = {variant.name for variant in experiment.variants}
    logged, played = set(MEASURES), {BOX_EPISODES: {COST}, FIXED_STARTS: {START}}.get(experiment.evaluation, set())
    measured = {SECONDS, MEMORY} if experiment.isolated else set()
    for claim in claims_of(experiment):
        assert {claim.better, claim.worse} <= names
        assert claim.suite in (None, *experiment.suites)
        assert claim.measure in logged | measured | played


def test_the_printed_figures_reproduce_every_claim_of_their_tables():
    rng = np.random.default_rng(0)
    samples = {
        key: {m.name: figures.of(m) * np.exp(0.001 * rng.normal(size=3)) for m in MEASURES}
        for key, figures in printed().items()
    }
    every = [claim for suite in EXPERIMENTS["q1"].suites for claim in claims_of_table(suite)] + list(CLAIMS["q1"])
    assert len(every) == 115 + 2 * (len(TABLE_ALGORITHMS) - 1) + 1
    assert {assess(claim, samples).verdict for claim in every} == {"reproduced"}
