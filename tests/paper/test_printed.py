"""The printed figures of the paper."""

import pytest

from ascpo.guard.suites import PAPER_SUITES
from ascpo.paper.experiments import TABLE_ALGORITHMS
from ascpo.paper.printed import COPIES, FAILED_SEEDS, Figures, printed


def test_every_suite_has_every_algorithm():
    assert set(printed()) == {(suite, name) for suite in PAPER_SUITES for name in TABLE_ALGORITHMS}
    assert len(TABLE_ALGORITHMS) == 12


@pytest.mark.parametrize(
    ("suite", "algorithm", "figures"),
    [
        ("Point-8-Hazard", "trpo", Figures(2.46, 0.6222, 0.0073)),
        ("Point-8-Hazard", "ascpo", Figures(2.48, 0.0413, 0.0013)),
        ("Point-8-Pillar", "pcpo", Figures(2.40, 4.62, 0.0193)),
        ("Swimmer-1-Hazard", "ascpo", Figures(2.45, 0.0, 0.0002)),
        ("Drone-8-3DHazard", "pcpo", Figures(1.29, 0.2227, 0.0001)),
        ("Ant-8-Hazard", "trpo-sl", Figures(2.29, 11.51, 0.05)),
        ("Walker-8-Hazard", "cpo-cvar", Figures(2.39, 0.4909, 0.0114)),
        ("Arm3-8-Hazard", "scpo", Figures(2.25, 0.6708, 0.0100)),
    ],
)
def test_printed_cells_are_those_of_the_papers_tables(suite, algorithm, figures):
    assert printed()[suite, algorithm] == pytest.approx(figures)


def test_the_two_tables_that_are_not_to_be_used_share_nine_rows():
    first, second = COPIES
    assert sum(printed()[first, name] == printed()[second, name] for name in TABLE_ALGORITHMS) == 9


def test_a_failed_seed_shows_only_in_the_return():
    for key in printed():
        assert (printed()[key].J_r < 1.5) == (key in FAILED_SEEDS)
