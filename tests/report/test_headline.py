"""The headline of a comparison: a winner needs seeds that agree, and everything else is a tie or no answer."""

import pytest

from ascpo.evaluation.intervals import Interval, of_difference
from ascpo.report.data import find_runs
from ascpo.report.figures import draw
from ascpo.report.groups import groups_of
from ascpo.report.headline import headlines
from tests.report.made import made


def verdict(path, **returns):
    """The headline about the return of algorithms with these values, one per seed."""
    for algo, values in returns.items():
        for seed, value in enumerate(values):
            made(path / f"{algo}{seed}", algo=algo, seed=seed, EpRet=value)
    (headline,) = headlines(groups_of(find_runs([path])))
    return next(found for found in headline.verdicts if found.title == "Return of an episode")


def test_seeds_that_agree_name_a_winner_with_its_lead_and_an_interval(tmp_path):
    found = verdict(tmp_path, cpo=[1.0, 1.1, 0.9], scpo=[3.0, 3.1, 2.9])
    # s = 0.1 for both, so the standard error is √(2·0.01/3) = 0.0816, with 4 degrees of freedom: 2.776·0.0816 = 0.227.
    assert found.text == "scpo wins by 2 (95 % interval 1.77 to 2.23; 3 seeds) over cpo."
    assert [(group.label, mean) for group, mean in found.means] == [
        # 4.303·0.1/√3 = 0.248
        ("scpo", "3 [2.75, 3.25]"),
        ("cpo", "1 [0.752, 1.25]"),
    ]


def test_groups_that_overlap_are_a_tie_and_a_third_one_that_differs_is_named(tmp_path):
    assert verdict(tmp_path / "two", cpo=[1.0, 2.0, 3.0], scpo=[1.5, 2.5, 3.5]).text == (
        "A tie: the 3 seeds do not tell scpo and cpo apart."
    )
    three = verdict(tmp_path / "three", cpo=[1.0, 2.0, 3.0], scpo=[1.5, 2.5, 3.5], pcpo=[-90.0, -91.0, -92.0])
    assert three.text.startswith("A tie: the 3 seeds do not tell scpo and cpo apart. They tell scpo from pcpo.")


def test_one_seed_wins_nothing(tmp_path):
    found = verdict(tmp_path, cpo=[1.0], scpo=[30.0])
    assert found.text == "No winner can be named."
    assert found.means[0][1] == "30", "a single seed has no interval"


def test_less_cost_is_better_and_no_interval_of_a_cost_is_below_zero(tmp_path):
    for algo, costs in {"cpo": [9.0, 9.1, 9.2], "scpo": [0.0, 0.1, 0.2]}.items():
        for seed, cost in enumerate(costs):
            made(tmp_path / f"{algo}{seed}", algo=algo, seed=seed, EpCost=cost)
    (headline,) = headlines(groups_of(find_runs([tmp_path])))
    cost = headline.verdicts[-1]
    assert cost.text.startswith("scpo wins by 9 ")
    assert cost.means[0][1].startswith("0.1 [0, ")


def test_seeds_without_variance_differ_by_their_difference():
    assert of_difference([1.0, 1.0], [0.5, 0.5]) == Interval(0.5, 0.5, 0.5)
    alike = of_difference([0.0, 2.0], [0.0, 2.0])
    assert alike.value == 0.0
    assert alike.low == pytest.approx(-alike.high)


def test_a_tie_is_also_one_of_two_groups_that_are_exactly_alike(tmp_path):
    assert verdict(tmp_path, cpo=[1.0, 1.0], scpo=[1.0, 1.0]).text.startswith("A tie")


def test_different_environments_share_no_headline_and_no_figure(tmp_path):
    for env in ("Point-1-Hazard", "Point-4-Hazard"):
        for algo in ("cpo", "scpo"):
            made(tmp_path / f"{env}{algo}", env=env, algo=algo)
    groups = groups_of(find_runs([tmp_path]))
    assert [headline.env for headline in headlines(groups)] == ["Point-1-Hazard", "Point-4-Hazard"]
    assert headlines(groups)[0].note.startswith("cpo and scpo have 1 seed each"), "without the environment"
    learning = draw(groups)[0]
    assert list(learning.parts) == ["Point-1-Hazard", "Point-4-Hazard"]
    for env, plots in learning.parts.items():
        for plot in plots:
            assert all(line.label.startswith(env) for line in plot.chart.lines)
            assert env in plot.figure.axes[0].get_title(loc="left")
    names = [plot.name for plot in learning.plots]
    assert len(set(names)) == len(names)
