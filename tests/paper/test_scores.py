"""Scores, computed by hand and compared with published values for the same tables."""

import numpy as np
import pytest

from ascpo.evaluation.intervals import Interval
from ascpo.guard.suites import PAPER_SUITES
from ascpo.paper.experiments import TABLE_ALGORITHMS
from ascpo.paper.printed import Figures, printed
from ascpo.paper.scores import Grid, assess_scores, measured, score


def samples(figures, seeds=1, spread=0.0):
    """{(suite, algorithm): (J_r, M_c, ρ_c)} as runs, all seeds around the same numbers."""
    rng = np.random.default_rng(0)
    names = ("J_r", "M_c", "ρ_c")
    return {
        key: {name: x * np.exp(spread * rng.normal(size=seeds)) for name, x in zip(names, three, strict=True)}
        for key, three in figures.items()
    }


def psi(figures, trpo):
    """ψ on one suite."""
    return Grid(("trpo", "other"), np.array([[[trpo, figures]]])).psi()[0, 1]


def test_psi_is_the_mean_of_three_ratios():
    trpo = Figures(2.0, 0.6, 0.006)
    assert psi(trpo, trpo) == pytest.approx(1.0)
    assert psi(Figures(1.0, 0.2, 0.003), trpo) == pytest.approx((0.5 + 3.0 + 2.0) / 3)


def test_values_below_the_floor_count_as_the_floor():
    trpo = Figures(2.0, 0.1, 0.001)
    assert psi(Figures(2.0, 0.0, 0.0), trpo) == pytest.approx((1 + 0.1 / 0.001 + 0.001 / 0.00005) / 3)
    assert psi(Figures(-1.0, 0.1, 0.001), trpo) == pytest.approx((0.1 / 2.0 + 1 + 1) / 3)


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [("cpo", 1.68), ("trpo-fac", 1.59), ("pcpo", 1.52), ("trpo-lagrangian", 1.36), ("trpo-usl", 1.23)],
)
def test_without_zeros_psi_of_the_printed_tables_needs_no_floor(algorithm, expected):
    """All nineteen, the copies among them, as the paper has it."""
    table = printed()
    all_suites = [psi(table[suite, algorithm], table[suite, "trpo"]) for suite in PAPER_SUITES]
    assert np.mean(all_suites) == pytest.approx(expected, abs=0.005)


def test_trpo_always_has_a_score_of_one():
    found = {s.algorithm: s for s in score(samples(printed(), seeds=3, spread=0.3), TABLE_ALGORITHMS)}
    assert found["trpo"].psi == Interval(1.0, 1.0, 1.0)
    assert found["trpo"].ratio.value == pytest.approx(1.0)
    assert found["ascpo"].suites == 17


def test_the_best_of_all_has_rank_one_and_ties_share_their_places():
    figures = {}
    for suite in ("Point-1-Hazard", "Point-4-Hazard"):
        figures |= {
            (suite, "trpo"): (1.0, 1.0, 1.0),
            (suite, "cpo"): (1.0, 1.0, 1.0),
            (suite, "ascpo"): (2.0, 0.5, 0.5),
        }
    found = {s.algorithm: s.rank for s in score(samples(figures), ["cpo", "ascpo"])}
    assert found == {"trpo": 2.5, "cpo": 2.5, "ascpo": 1.0}


def test_the_geometric_score_is_symmetric():
    figures = {("Point-1-Hazard", "trpo"): (2.0, 1.0, 0.01), ("Point-1-Hazard", "cpo"): (2.0, 0.25, 0.0025)}
    swapped = {(suite, {"trpo": "cpo", "cpo": "trpo"}[name]): three for (suite, name), three in figures.items()}
    ratios = [score(samples(one), ["cpo"])[1].ratio for one in (figures, swapped)]
    assert ratios[0] == pytest.approx(4 ** (2 / 3))
    assert ratios[0] * ratios[1] == pytest.approx(1.0)


def test_a_suite_without_a_run_is_left_out_of_that_algorithms_mean():
    figures = {(s, n): (1.0, 1.0, 1.0) for s in ("Point-1-Hazard", "Point-4-Hazard") for n in ("trpo", "cpo")}
    figures["Point-1-Hazard", "ascpo"] = (1.0, 0.5, 0.5)
    found = {s.algorithm: s for s in score(samples(figures), ["cpo", "ascpo"])}
    assert (found["ascpo"].suites, found["ascpo"].psi) == (1, pytest.approx(5 / 3))
    assert found["cpo"].suites == 2


def test_the_copied_tables_do_not_count():
    kept = measured(samples(printed()), TABLE_ALGORITHMS)
    assert kept is not None
    assert kept.figures.shape[1] == 17


def test_runs_that_repeat_the_printed_figures_reproduce_its_scores():
    assessed = assess_scores(samples(printed(), seeds=2, spread=0.05), TABLE_ALGORITHMS)
    assert len(assessed) == 11
    assert {one.verdict for one in assessed} == {"reproduced"}
    for one in assessed:
        assert one.ours.value == pytest.approx(one.printed, rel=0.2)
