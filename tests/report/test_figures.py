import re
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ascpo.report.curves import learning_curves, optimiser_curves
from ascpo.report.data import find_runs, read_run
from ascpo.report.episodes import episode_plots, of_episodes
from ascpo.report.figures import draw
from ascpo.report.groups import groups_of
from ascpo.report.largest_cost import bound_plots, check_bounds, quantile_at, quantile_plots
from ascpo.report.style import MissingPlot, Plot, chip, colour, look, panel, save
from ascpo.report.wording import percent
from ascpo.runs.description import Description, write
from tests.report.made import NO_CONSTRAINTS, QUANTILES, evaluated, made, several


def groups_in(path):
    return groups_of(find_runs([path]))


def drawn(plots):
    return [plot.name for plot in plots if isinstance(plot, Plot)]


def missing(plots):
    return [plot for plot in plots if isinstance(plot, MissingPlot)]


def test_values_between_known_quantiles_are_interpolated():
    known = {0.5: np.array([0.0]), 0.9: np.array([1.0]), 1.0: np.array([3.0])}
    assert_allclose(quantile_at(0.9, known), [1.0])
    assert_allclose(quantile_at(0.95, known), [2.0])
    assert_allclose(quantile_at(0.5, known), [0.0])


def test_bounds_of_an_epoch_are_checked_in_the_next(tmp_path):
    # With p = 0.8, κ = √(0.8 / 0.2) = 2.
    run = read_run(
        made(
            tmp_path / "a",
            epochs=3,
            EpMaxCost=[0.1, 0.0, 0.5],
            StdMaxCost=[0.1, 0.2, 0.5],
            EpMaxCost75=[9.0, 0.1, 0.5],
            EpMaxCost90=[9.0, 0.4, 0.8],
            method={"k": 5.0},
        )
    )
    found = check_bounds(run, "cost")
    assert found.level == 0.8
    assert_allclose(found.cantelli, [0.1 + 2 * 0.1, 0.0 + 2 * 0.2])
    assert_allclose(found.paper, [0.1 + 5 * 0.01, 0.0 + 5 * 0.04])
    # A third of the way from 75 % to 90 %.
    assert_allclose(found.measured, [0.2, 0.6])
    assert found.held(found.cantelli) == (1, 2)
    assert found.held(found.paper) == (0, 2)


def test_a_bound_that_is_just_met_counts_as_held(tmp_path):
    run = read_run(made(tmp_path / "a", EpMaxCost=0.0, StdMaxCost=0.0, EpMaxCost75=0.0, EpMaxCost90=0.0))
    found = check_bounds(run, "cost")
    assert found.held(found.cantelli) == found.held(found.paper) == (3, 3)


def test_no_bound_is_checked_without_quantiles_or_without_a_next_epoch(tmp_path):
    assert check_bounds(read_run(made(tmp_path / "old", **dict.fromkeys(QUANTILES))), "cost") is None
    assert check_bounds(read_run(made(tmp_path / "short", epochs=1)), "cost") is None


def test_a_target_beyond_the_last_quantile_is_interpolated_up_to_the_worst_state(tmp_path):
    settings = {"probability": 0.995}
    run = read_run(made(tmp_path / "a", settings=settings, EpMaxCost99=0.2, WorstCost=0.4))
    assert check_bounds(run, "cost").level == 0.995
    assert_allclose(check_bounds(run, "cost").measured, 0.3)
    # The worst state of all constraints says nothing about one of them.
    both = read_run(made(tmp_path / "b", settings=settings, **several()))
    assert check_bounds(both, "hazard").level == 0.99


def test_an_evaluated_run_has_every_figure(tmp_path):
    evaluated(made(tmp_path / "a"))
    sections = {section.anchor: section.plots for section in draw(groups_in(tmp_path))}
    assert drawn(sections["learning"]) == [
        f"{name}-steps" for name in ("epret", "epcost", "epmaxcost", "saferate", "costrate")
    ]
    assert [name.split("-")[1] for name in drawn(sections["clock"])] == ["clock"] * 5
    assert drawn(sections["largest"]) == ["fan", "bounds"]
    assert drawn(sections["fresh"]) == ["cost-sampled", "largest-sampled"]
    assert drawn(sections["optimiser"]) == ["nu-epochs", "askshare-epochs", "kl-epochs"]
    assert not any(missing(figures) for figures in sections.values())


def test_a_plot_that_an_older_run_lacks_says_why_and_what_to_do(tmp_path):
    path = made(tmp_path / "old run", **dict.fromkeys(QUANTILES))
    (path / "timing.csv").unlink()
    (path / "policy.safetensors").touch()
    sections = {section.anchor: section.plots for section in draw(groups_in(tmp_path))}
    assert "timing.csv" in missing(sections["clock"])[0].reason
    assert [figure.command for figure in missing(sections["largest"])] == [
        f"ascpo train --config '{path}' --name NAME"
    ] * 2
    (figure,) = missing(sections["fresh"])
    assert figure.command == f"ascpo evaluate '{path}'"
    assert "episodes-sampled.csv" in figure.reason


def test_without_a_policy_nothing_can_be_evaluated(tmp_path):
    made(tmp_path / "a")
    (figure,) = missing(episode_plots(groups_in(tmp_path)))
    assert "train it again" in figure.reason
    assert figure.command.startswith("ascpo train --config")


def test_each_constraint_has_its_own_figures(tmp_path):
    evaluated(made(tmp_path / "a", **several()), suffix="_hazard", names=("hazard", "pillar"))
    groups = groups_in(tmp_path)
    with look():
        assert drawn(quantile_plots(groups)) == ["fan-hazard", "fan-pillar"]
        assert drawn(bound_plots(groups)) == ["bounds-hazard", "bounds-pillar"]
        assert drawn(learning_curves(groups))[5:] == [
            f"{column}-steps-{name}" for name in ("hazard", "pillar") for column in ("epcost", "epmaxcost")
        ]
        assert "nu-epochs-pillar" in drawn(optimiser_curves(groups))
        assert drawn(episode_plots(groups)) == ["cost-sampled-hazard", "largest-sampled-hazard"]


def test_algorithms_have_the_figures_of_their_columns(tmp_path):
    made(tmp_path / "trpo", algo="trpo", **NO_CONSTRAINTS)
    made(tmp_path / "fac", algo="trpo-fac", Multiplier=1.0, **NO_CONSTRAINTS)
    made(tmp_path / "sl", algo="trpo-sl", ShieldRate=0.5, **NO_CONSTRAINTS)
    with look():
        assert drawn(optimiser_curves(groups_in(tmp_path / "trpo"))) == ["kl-epochs"]
        assert drawn(optimiser_curves(groups_in(tmp_path))) == ["multiplier-epochs", "kl-epochs", "shieldrate-epochs"]


def test_a_caption_names_the_single_epochs_only_where_they_are_drawn(tmp_path):
    """The chart that the page draws from numbers has the running mean alone."""
    made(tmp_path / "a", epochs=40)
    with look():
        plot = learning_curves(groups_in(tmp_path))[0]
    assert len(plot.figure.axes[0].get_lines()) == 2
    assert len(plot.chart.lines) == 1
    assert "over 2 epochs; in the SVG and the PNG, a pale line shows single epochs." in plot.caption


def test_a_signal_that_only_some_epochs_measure_is_one_line(tmp_path):
    """Of eight epochs every third: the line joins them, as the means of each with the one before, two epochs back."""
    measured = [0.2, "nan", "nan", 0.4, "nan", "nan", -0.1, "nan"]
    made(tmp_path / "a", epochs=8, CostSignal=measured)
    with look():
        (plot,) = [one for one in optimiser_curves(groups_in(tmp_path)) if one.name == "costsignal-epochs"]
    line, zero = plot.figure.axes[0].get_lines()[-2:]
    np.testing.assert_array_equal(line.get_xdata(), [0, 3, 6])
    np.testing.assert_allclose(line.get_ydata(), [0.2, 0.4, -0.1])
    assert set(zero.get_ydata()) == {0.0}
    assert "no noise" in plot.caption


def test_a_constraint_whose_signal_was_never_measured_has_no_curve_of_it(tmp_path):
    made(tmp_path / "a", CostSignal="nan")
    with look():
        assert "costsignal-epochs" not in drawn(optimiser_curves(groups_in(tmp_path)))


def test_episodes_of_all_seeds_are_pooled(tmp_path):
    evaluated(made(tmp_path / "a", seed=0), maxima=(0.0, 0.1, 0.2, 0.3))
    evaluated(made(tmp_path / "b", seed=1), maxima=(0.4, 0.0, 0.0, 0.0))
    groups = groups_in(tmp_path)
    assert_allclose(sorted(of_episodes(groups[0], "sampled", "EpMaxCost")), [0, 0, 0, 0, 0.1, 0.2, 0.3, 0.4])
    with look():
        histogram = episode_plots(groups)[1]
    assert histogram.caption.startswith(
        f"4 of 8 episodes violate the limit of 0 ({percent(0.5)}). The largest cost of the worst is 0.4."
    )


def test_limits_on_sums_of_costs_are_drawn_where_sums_are(tmp_path):
    """Two of four episodes cost more than 2.5 in all, though no state costs more."""
    evaluated(made(tmp_path / "cpo", algo="cpo", settings={"limits": [2.5]}), (1.0, 2.0, 3.0, 10.0), (0.5,) * 4)
    limited_sums = Description(
        "cpo", "bounds costs", "constraint", "the mean cost", "", "constrained", limits_on="episode"
    )
    write(tmp_path / "cpo", limited_sums)
    groups = groups_in(tmp_path)
    with look():
        found = [*learning_curves(groups), *quantile_plots(groups), *episode_plots(groups)]
    plots = {plot.name: plot for plot in found}
    assert plots["sum-sampled"].caption.startswith(f"2 of 4 episodes violate the limit of 2.5 ({percent(0.5)}).")
    assert "largest-sampled" not in plots
    assert limits_in(plots["epcost-steps"]) == [2.5]
    assert limits_in(plots["epmaxcost-steps"]) == limits_in(plots["fan"]) == []


def limits_in(plot):
    return [line.get_ydata()[0] for line in plot.figure.axes[0].get_lines() if line.get_label() == "limit"]


def test_a_box_is_drawn_from_the_smallest_to_the_largest_with_the_mean(tmp_path):
    evaluated(made(tmp_path / "a"), costs=(1.0, 2.0, 3.0, 4.0, 10.0), maxima=(0.1,) * 5)
    with look():
        figure = episode_plots(groups_in(tmp_path))[0].figure
    (axes,) = figure.axes
    lines = [sorted(map(float, line.get_xdata())) for line in axes.get_lines()]
    # Whiskers from the box of 2 to 4 down to 1 and up to 10; the median is 3, and the mean 4.
    assert [line for line in lines if len(set(line)) > 1] == [[1, 2], [4, 10]]
    assert [3, 3] in lines
    assert_allclose(axes.collections[0].get_offsets()[0][0], 4.0)


def test_one_epoch_is_enough(tmp_path):
    made(tmp_path / "a", epochs=1)
    sections = {section.anchor: section.plots for section in draw(groups_in(tmp_path))}
    assert len(drawn(sections["learning"])) == 5
    assert [figure.reason[:18] for figure in missing(sections["largest"])] == ["The plot needs two"]


def test_files_of_a_figure_are_a_png_and_an_svg_and_a_part_of_a_page(tmp_path):
    with look():
        figure, axes = panel("A & B", "x", "y")
        axes.plot([0, 1], [0, 1], label="<b>")
        svg = save(Plot("one", 'a "title" & <more>', "", figure), tmp_path)
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "one.svg").read_text()
    assert "http" not in svg
    assert "<text" not in svg
    root = ElementTree.fromstring(svg)
    assert (root.tag, root.get("aria-label")) == ("svg", 'a "title" & <more>')


def test_drawings_on_one_page_have_distinct_identifiers(tmp_path):
    parts = []
    with look():
        for name in ("one", "two"):
            figure, axes = panel("same", "x", "y")
            axes.fill_between([0, 1], [0, 0], [1, 2])
            axes.scatter([0], [1])
            parts.append(save(Plot(name, "same", "", figure), tmp_path))
    names = [set(re.findall(r' id="([^"]+)"', part)) for part in parts]
    assert names[0]
    assert names[1]
    assert not names[0] & names[1]
    for part, known in zip(parts, names, strict=True):
        used = set(re.findall(r'href="#([^"]+)"', part)) | set(re.findall(r"url\(#([^)]+)\)", part))
        assert used
        assert used <= known


def test_the_same_run_makes_the_same_drawing(tmp_path):
    made(tmp_path / "a")
    with look():
        first, second = (save(learning_curves(groups_in(tmp_path))[0], tmp_path) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("env", ["<script>alert(1)</script>", "a $x_{$ b", "_hidden", "日本"])
def test_figures_are_drawn_whatever_the_name_of_the_environment(tmp_path, env):
    made(tmp_path / "a", env=env)
    made(tmp_path / "b")
    (tmp_path / "figures").mkdir()
    with look():
        figure = learning_curves(groups_in(tmp_path))[0]
        svg = save(figure, tmp_path / "figures")
    labels = [text.get_text() for text in figure.figure.legends[0].get_texts()]
    assert labels == [f" {env}, ascpo" if env.startswith("_") else f"{env}, ascpo", "Point-1-Hazard, ascpo"]
    assert "<script" not in svg


def test_lines_are_dashed_when_colours_repeat():
    assert colour(0) == colour(8)
    assert chip(0) == "var(--hue-0)"
    assert chip(8).startswith("repeating-linear-gradient")


def test_the_title_of_a_curve_ends_in_its_constraint(tmp_path):
    made(tmp_path / "a", **several())
    with look():
        titles = [plot.title for plot in learning_curves(groups_in(tmp_path)) if isinstance(plot, Plot)]
    assert "Cost of an episode over steps" in titles
    assert "Cost of an episode over steps: pillar" in titles
