"""Figures exist and show the right data."""

import numpy as np
import pytest
from matplotlib import pyplot

from ascpo.paper import drawing
from ascpo.paper.experiments import EXPERIMENTS, Training
from ascpo.runs.tables import read_table
from tests.paper.helpers import ASCPO, TRPO, store_in, write_run


@pytest.fixture
def drawn(monkeypatch):
    """The figures, before they are saved: that takes a second each."""
    kept = []
    monkeypatch.setattr(drawing, "_save", lambda figure, path: kept.append(figure) or [])
    yield kept
    pyplot.close("all")


def test_boxes_reach_from_the_smallest_to_the_largest_with_the_mean_marked(drawn):
    costs = np.array([0.0, 1.0, 2.0, 3.0, 94.0])
    drawing.draw_boxes(None, {"Point-8-Hazard": {"ascpo": costs}})
    (axis,) = drawn[0].axes
    heights = [list(line.get_ydata()) for line in axis.lines]
    assert max(max(y, default=0.0) for y in heights) == 94.0
    assert [20.0] in heights  # the mean, which no quartile is
    assert [label.get_text() for label in axis.get_xticklabels()] == ["ascpo"]


def test_curves_have_one_line_per_algorithm_and_one_panel_per_measure(drawn, tmp_path):
    store, q1 = store_in(tmp_path), EXPERIMENTS["q1"]
    runs = {
        v.name: [
            read_table(write_run(store, q1, Training("Point-8-Hazard", v, seed), J_r=seed).metrics) for seed in (1, 2)
        ]
        for v in (TRPO, ASCPO)
    }
    drawing.draw_curves(None, {"Point-8-Hazard": runs}, {"Point-8-Hazard": {"trpo": np.ones(3)}})
    returns, *_, boxes = drawn[0].axes
    assert len(drawn[0].axes) == 4
    assert [line.get_label() for line in returns.lines] == ["trpo", "ascpo"]
    assert returns.lines[0].get_ydata() == pytest.approx([1.5, 1.5])
    assert boxes.get_title() == "cost after training"


def test_smoothing_keeps_the_mean_of_its_window():
    assert drawing._smooth(np.arange(10.0)) == pytest.approx(np.arange(10.0))  # too short to smooth
    smooth = drawing._smooth(np.tile([0.0, 1.0], 20))
    assert (len(smooth), smooth[0]) == (40, 0.0)
    assert smooth[1:] == pytest.approx(0.5)


def test_the_figure_of_starts_shows_largest_and_mean_above_and_all_costs_of_one_start_below(drawn):
    drawing.draw_starts(None, {"ascpo": {0: np.array([0.0, 2.0]), 1: np.array([1.0, 1.0])}})
    above, below = drawn[0].axes
    assert [bar.get_height() for bar in above.patches] == [2.0, 1.0, 1.0, 1.0]
    assert sum(bar.get_height() for bar in below.patches) == 2


def test_bars_are_drawn_with_the_allowed_maximum(drawn):
    drawing.draw_bars(None, {"time": {"trpo": (1.0, 0.0), "ascpo": (1.2, 0.1)}}, 1.01)
    (axis,) = drawn[0].axes
    assert [bar.get_height() for bar in axis.patches] == [1.0, 1.2]
    assert 1.01 in [line.get_ydata()[0] for line in axis.lines]
