import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ascpo.report import seeds
from ascpo.report.data import find_runs, one_run, read_run
from ascpo.report.groups import by_constraint, differing, groups_of
from ascpo.report.tables import fresh_tables, settings_tables, training_table, versions_table, whole_table
from ascpo.report.wording import number, percent
from ascpo.runs.serialization import BadSetting
from tests.report.made import NO_CONSTRAINTS, QUANTILES, evaluated, made, several


def test_a_run_is_read_with_its_settings_and_its_log(tmp_path):
    run = read_run(made(tmp_path / "a", seed=3, epochs=5))
    assert (run.env, run.algo, run.seed, run.epochs, run.planned_epochs) == ("Point-1-Hazard", "ascpo", 3, 5, 5)
    assert (run.probability, run.k, run.limits, run.constraints) == (0.8, 7.0, (0.0,), ("cost",))
    assert_allclose(run.column("WallClock"), [10, 20, 30, 40, 50])


def test_a_single_constraint_has_the_name_that_the_evaluation_knows(tmp_path):
    run = read_run(evaluated(made(tmp_path / "a")))
    assert run.constraints == ("hazard",)
    assert run.column("Nu", "hazard") is not None


def test_several_constraints_are_known_by_their_columns_and_share_a_single_limit(tmp_path):
    run = read_run(made(tmp_path / "a", settings={"limits": [0.5]}, **several(Nu_pillar=[1, 2, 3, 4])))
    assert run.constraints == ("hazard", "pillar")
    assert run.limits == (0.5, 0.5)
    assert_allclose(run.column("Nu", "pillar"), [1, 2, 3, 4])


def test_a_column_of_nan_is_none(tmp_path):
    run = read_run(made(tmp_path / "a", algo="trpo", **NO_CONSTRAINTS))
    assert run.column("Nu", "cost") is None
    assert run.column("NoSuchColumn") is None


def test_a_run_without_the_newer_columns_has_no_quantiles(tmp_path):
    assert read_run(made(tmp_path / "old", **dict.fromkeys(QUANTILES))).quantiles("cost") is None


def test_the_columns_of_the_log_say_which_quantiles_there_are(tmp_path):
    assert list(read_run(made(tmp_path / "a")).quantiles("cost")) == [0.5, 0.75, 0.9, 0.95, 0.99]
    both = read_run(made(tmp_path / "b", **several(EpMaxCost75_pillar=None)))
    assert list(both.quantiles("pillar")) == [0.5, 0.9, 0.95, 0.99]


@pytest.mark.parametrize(("epochs", "ending"), [(4, 1), (30, 3), (300, 10)])
def test_final_figures_are_means_over_the_last_tenth_of_at_most_ten_epochs(tmp_path, epochs, ending):
    run = read_run(made(tmp_path / "a", epochs=epochs, EpRet=list(range(epochs))))
    assert run.last("EpRet") == np.mean(range(epochs - ending, epochs))


def test_the_table_of_the_end_of_a_training_says_how_long_that_end_is(tmp_path):
    groups = groups_of([read_run(made(tmp_path / "a", epochs=200))])
    said = "The values are means over the last 10 epochs: a tenth of the training, and ten epochs at most."
    assert training_table(groups).note == said


def test_the_tables_separate_final_figures_from_those_of_the_whole_training(tmp_path):
    groups = groups_of([read_run(made(tmp_path / "a", epochs=4, CostRate=0.5, EpochCostRate=[0.9, 0.7, 0.5, 0.1]))])
    end, whole = training_table(groups), whole_table(groups)
    titles = [statistic.title for statistic in end.statistics]
    assert "cost rate $ρ_c$" not in titles
    assert end.rows[0].cells[titles.index("cost per step")].value == "0.1"
    assert end.note == "The values are those of the last epoch."
    assert [(s.title, cell.value) for s, cell in zip(whole.statistics, whole.rows[0].cells, strict=True)] == [
        ("cost rate $ρ_c$", "0.5"), ("epochs", "4"), ("steps", "400"), ("seconds", "40")
    ]  # fmt: skip


def test_settings_of_older_runs_are_found_under_the_algorithms_name(tmp_path):
    path = made(tmp_path / "a", method={})
    path.joinpath("config.json").write_text('{"env": "e", "algo": "ascpo", "ascpo": {"k": 3.0}, "settings": {}}')
    assert read_run(path).k == 3.0


def test_a_run_that_this_version_cannot_load_is_described_by_its_log(tmp_path):
    mechanisms = {"constraint": {}, "penalty": {"Multiplier": 1.0}, "shield": {"ShieldRate": 0.5}, "none": {}}
    for mechanism, columns in mechanisms.items():
        free = {} if mechanism == "constraint" else NO_CONSTRAINTS
        run = read_run(made(tmp_path / mechanism, algo="unheard-of", **columns, **free))
        assert run.description.mechanism == mechanism


def test_the_share_of_the_constraints_has_the_range_of_the_target(tmp_path):
    target = {"kind": "capped", "share": 0.8, "timeout_relief": 0.5}
    new = made(tmp_path / "new", method={"target": target}, settings={"ask": None})
    assert_allclose(read_run(new).target_range, (0.4, 0.8))
    assert_allclose(read_run(made(tmp_path / "old")).target_range, (0.7275, 0.97))
    assert read_run(made(tmp_path / "own", settings={"ask": {"share": None}})).target_range is None


def test_a_run_is_found_once_however_often_it_is_named(tmp_path):
    a, b = made(tmp_path / "runs" / "a"), made(tmp_path / "runs" / "deep" / "b")
    assert [run.path for run in find_runs([a, tmp_path / "runs", b / "config.json"])] == [a, b]


def test_a_missing_run_gets_the_nearest_one_suggested(tmp_path):
    made(tmp_path / "Point-1-Hazard-ascpo-seed0")
    with pytest.raises(BadSetting, match=r"holds no run. Did you mean .*seed0"):
        find_runs([tmp_path / "Point-1-Hazard-ascpo-seed1"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadSetting, match="holds no run"):
        find_runs([tmp_path / "empty"])


def test_a_file_stands_for_its_run_and_never_for_the_runs_beside_it(tmp_path):
    run = made(tmp_path / "run")
    assert [found.path for found in find_runs([run / "metrics.csv"])] == [run]
    (tmp_path / "notes.txt").touch()
    with pytest.raises(BadSetting, match=r"notes\.txt is a file, and .* is not a run"):
        find_runs([tmp_path / "notes.txt"])


def test_a_run_without_a_finished_epoch_has_no_report(tmp_path):
    path = made(tmp_path / "a")
    (path / "metrics.csv").unlink()
    with pytest.raises(BadSetting, match="No epoch is finished"):
        find_runs([path])


def test_a_directory_of_several_runs_is_refused_where_one_is_needed(tmp_path):
    made(tmp_path / "a"), made(tmp_path / "b")
    with pytest.raises(BadSetting, match="holds 2 runs"):
        one_run(tmp_path)
    assert one_run(tmp_path / "a").name == "a"


def test_runs_that_differ_only_in_the_seed_are_one_group(tmp_path):
    for seed in (1, 0):
        made(tmp_path / f"ascpo-{seed}", seed=seed)
    made(tmp_path / "cpo", algo="cpo")
    groups = groups_of(find_runs([tmp_path]))
    assert [(group.label, [run.seed for run in group.runs]) for group in groups] == [("ascpo", [0, 1]), ("cpo", [0])]


def test_runs_of_two_versions_of_the_seeding_are_one_group(tmp_path):
    for seed in (0, 1):
        made(tmp_path / f"ascpo-{seed}", seed=seed)
    file = tmp_path / "ascpo-1" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"seeding": 2}))
    (group,) = groups_of(find_runs([tmp_path]))
    assert [run.settings.get("seeding") for run in group.runs] == [None, 2]


def test_a_label_says_what_differs_among_runs_of_the_same_algorithm_and_no_more(tmp_path):
    made(tmp_path / "a", method={"mode": "chance", "k": 7.0})
    made(tmp_path / "b", method={"mode": "paper", "k": 7.0})
    made(tmp_path / "c", method={"mode": "paper", "k": 3.0})
    made(tmp_path / "d", algo="trpo")
    groups = groups_of(find_runs([tmp_path]))
    assert [group.label for group in groups] == ["ascpo, chance, k 7", "ascpo, paper, k 7", "ascpo, paper, k 3", "trpo"]
    assert [group.slug for group in groups] == ["ascpo-chance-k-7", "ascpo-paper-k-7", "ascpo-paper-k-3", "trpo"]


def test_a_label_names_the_preset_and_not_every_setting_that_it_changes(tmp_path):
    settings = {"carry": False, "margin": 0.03}
    made(tmp_path / "a")
    made(tmp_path / "b", preset="released", settings=settings)
    made(tmp_path / "c", preset="released", settings=settings | {"margin": 0.1})
    runs = find_runs([tmp_path])
    labels = ["ascpo", "ascpo, preset released, margin 0.03", "ascpo, preset released, margin 0.1"]
    assert [group.label for group in groups_of(runs)] == labels
    assert [run.title for run in runs[:2]] == [
        "Point-1-Hazard, ascpo, seed 0",
        "Point-1-Hazard, ascpo, preset released, seed 0",
    ]


def test_names_of_files_are_plain_and_differ_even_where_labels_do_not(tmp_path):
    made(tmp_path / "a", env="<a>/..")
    made(tmp_path / "b", env='"a" &')
    slugs = [group.slug for group in groups_of(find_runs([tmp_path]))]
    assert slugs == ["a-ascpo", "a-ascpo-2"]


def test_a_setting_that_only_some_runs_have_counts_as_different(tmp_path):
    runs = [read_run(made(tmp_path / "a")), read_run(made(tmp_path / "b", algo="trpo"))]
    assert differing(runs) == ["algo", "mode", "k"]
    different, shared = settings_tables(groups_of(runs))
    assert different == {"algo": ["ascpo", "trpo"], "mode": ["chance", "–"], "k": ["7", "–"]}
    assert shared["ask.share"] == "0.97"
    assert shared["ask.closed"] == "yes"
    assert not {"algo", "seed"} & set(shared)


def test_a_single_constraint_is_compared_whatever_its_name(tmp_path):
    made(tmp_path / "a", algo="trpo"), evaluated(made(tmp_path / "b"))
    groups = groups_of(find_runs([tmp_path]))
    assert by_constraint(groups) == {"": groups}
    made(tmp_path / "c", env="Both", **several())
    groups = groups_of(find_runs([tmp_path]))
    assert list(by_constraint(groups)) == ["cost", "hazard", "pillar"]


def test_curves_of_a_group_are_as_long_as_the_longest(tmp_path):
    made(tmp_path / "a", seed=0, epochs=2, EpRet=[1, 2])
    path = made(tmp_path / "b", seed=1, epochs=2, EpRet=[3, 4])
    lines = (path / "metrics.csv").read_text().splitlines(keepends=True)
    (path / "metrics.csv").write_text("".join(lines[:2]))
    (group,) = groups_of(find_runs([tmp_path]))
    assert_allclose(group.columns("EpRet"), [[1, 2], [3, np.nan]])


def test_the_interquartile_mean_leaves_out_the_best_and_the_worst_quarter():
    assert_allclose(seeds.middle_of(np.array([[100.0], [3], [1], [2], [-50], [4], [5], [6]])), [3.5])
    assert_allclose(seeds.middle_of(np.array([[9.0], [0], [0]])), [3.0])


def test_two_seeds_have_a_band_from_least_to_most():
    band = seeds.band_of(np.array([[0.0, 4.0], [2.0, 0.0]]), more_is_better=True)
    assert_allclose([band.middle, band.low, band.high], [[1, 2], [0, 0], [2, 4]])
    assert_allclose(band.worst, [2, 0])


def test_the_worst_seed_of_a_cost_is_the_one_that_ends_highest():
    band = seeds.band_of(np.array([[0.0, 4.0], [9.0, 0.0]]), more_is_better=False)
    assert_allclose(band.worst, [0, 4])


def test_a_bootstrap_band_contains_the_middle_and_has_no_width_where_seeds_agree():
    curves = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    band = seeds.band_of(curves, more_is_better=True)
    assert band.low[0] < band.middle[0] < band.high[0]
    assert curves[:, 0].min() <= band.low[0]
    assert_allclose([band.low[1], band.high[1]], [5, 5])


def test_the_band_ignores_curves_that_have_ended():
    band = seeds.band_of(np.array([[1.0, np.nan], [3.0, 7.0]]), more_is_better=True)
    assert_allclose(band.middle, [2, 7])


def test_a_running_mean_uses_earlier_values_and_skips_nan():
    assert_allclose(seeds.smooth(np.array([1.0, 3.0, 5.0, 7.0]), 2), [1, 2, 4, 6])
    assert_allclose(seeds.smooth(np.array([1.0, np.nan, 5.0]), 3), [1, np.nan, 3])


def test_a_caption_says_how_many_seeds_make_a_curve():
    assert seeds.caption(1) == "The curve is one seed."
    assert seeds.caption(2).startswith("The curve is the mean of 2 seeds, the band their range")
    assert seeds.caption(3).startswith("The curve is the mean of 3 seeds, the band their 95 % bootstrap interval")
    assert seeds.caption(4).startswith("The curve is the interquartile mean of 4 seeds")


def test_a_table_tells_groups_and_their_seeds_apart(tmp_path):
    for seed, value in ((0, 1.0), (1, 2.0)):
        made(tmp_path / f"a{seed}", seed=seed, EpRet=value)
    evaluated(made(tmp_path / "b", algo="trpo"))
    groups = groups_of(find_runs([tmp_path]))
    found = training_table(groups)
    assert [row.label for row in found.rows] == ["ascpo", "trpo"]
    assert [row.label for row in found.seeds] == ["ascpo, seed 0", "ascpo, seed 1"]
    first = found.rows[0].cells[0]
    assert (first.value, first.range) == ("1.5", "1 – 2")


def test_a_table_of_fresh_episodes_shows_intervals_of_evaluated_runs(tmp_path):
    made(tmp_path / "a")
    evaluated(made(tmp_path / "b", algo="trpo"))
    (table,) = fresh_tables(groups_of(find_runs([tmp_path]))).values()
    (row,) = table.rows
    cells = dict(zip([statistic.name for statistic in table.statistics], row.cells, strict=True))
    assert (row.label, row.index) == ("trpo", 1)
    assert (cells["SafeRate"].value, cells["SafeRate"].range) == ("75.0\u00a0%", "25.0 – 87.5\u00a0%")
    assert cells["Episodes"].value == "4"
    assert "EpCost" not in cells


def test_versions_that_agree_share_a_column(tmp_path):
    runs = []
    for name, version in (("a", "1"), ("b", "1"), ("c", "2")):
        path = made(tmp_path / name)
        (path / "versions.json").write_text(f'{{"numpy": "{version}"}}')
        runs.append(read_run(path))
    assert versions_table(runs[:2]) == (["all runs"], {"numpy": ["1"]})
    assert versions_table(runs) == (["a, b", "c"], {"numpy": ["1", "2"]})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.012345, "0.0123"),
        (-2.0, "−2"),
        (1000, "1\u00a0000"),
        (12345.6, "12\u00a0346"),
        (1e-6, "1e−06"),
        (np.nan, "unknown"),
    ],
)
def test_numbers_keep_three_significant_digits(value, words):
    assert number(value) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.98, "98.0 %"), (1.0, "100.0 %"), (0.9999, "> 99.9 %"), (0.0001, "< 0.1 %"), (0.0, "0.0 %")],
)
def test_a_share_is_shown_as_0_or_100_percent_only_if_it_is(share, words):
    assert percent(share).replace("\u00a0", " ") == words
