"""Runs with the published, the released and our settings: stored and assessed separately, and shown side by side."""

import csv

import pytest

from ascpo.algorithms.presets import PRESETS
from ascpo.cli import paper
from ascpo.paper.columns import COLUMNS
from ascpo.paper.experiments import EXPERIMENTS, Training, Variant, experiments
from ascpo.paper.export import export
from ascpo.paper.pages import page_of
from ascpo.paper.plan import Request, plans
from ascpo.paper.printed import J_R, M_C, RHO_C, printed_value
from ascpo.paper.results import PaperStore
from ascpo.runs.config import configure
from ascpo.runs.serialization import BadSetting, flat, to_plain
from tests.paper.helpers import ASCPO, CPO, SCPO, TRPO, store_in, write_run

POINT, GHOST = "Point-8-Hazard", "Point-8-Ghost"
Q1, COMPARED = EXPERIMENTS["q1"], EXPERIMENTS["columns"]
LEVEL = {"cpo": 0.04, "scpo": 0.04, "ascpo": 0.04}
"""M_c of algorithms that seeds do not tell apart."""
SAME_IN_BOTH = ("trpo", "cpo", "pcpo", "trpo-lagrangian")
"""The algorithms of the comparison whose settings both presets share."""


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    """They take a second each."""
    drawn = []
    monkeypatch.setattr("ascpo.paper.contents.draw_curves", lambda path, rows, boxes: drawn.append((path, rows)) or [])
    return drawn


@pytest.fixture
def apart(monkeypatch):
    """No run is used in two columns: the made-up runs have other figures in each."""
    monkeypatch.setattr("ascpo.paper.experiments.trained_as", lambda algo, column: column)


@pytest.fixture
def store(tmp_path):
    return store_in(tmp_path / "runs")


def write_column(store, column, costs=None, seeds=3, suite=POINT, experiment=COMPARED):
    """Runs with the paper's figures, or with other costs. The seeds differ by two per cent."""
    for variant in (TRPO, CPO, SCPO, ASCPO):
        J_r, M_c, rho_c = (printed_value(suite, variant.name, m) for m in (J_R, M_C, RHO_C))
        M_c = (costs or {}).get(variant.name, M_c)
        for seed in range(seeds):
            factor = 1 + 0.02 * ((seed + len(variant.name)) % 3)
            write_run(store, experiment, Training(suite, variant, seed, column), J_r, M_c * factor, rho_c * factor)


def with_shares(run, safe, timeout):
    """The run's log, with the two columns that the paper does not have."""
    first, *rows = run.metrics.read_text().splitlines()
    lines = [f"{first},SafeRate,TimeoutRate", *(f"{row},{safe},{timeout}" for row in rows)]
    run.metrics.write_text("\n".join(lines) + "\n")


def read(file):
    with file.open() as opened:
        return list(csv.DictReader(opened))


class TestRuns:
    """Which runs are trained, and where they are stored."""

    def test_a_column_is_part_of_a_runs_name_except_for_our_defaults(self):
        names = {column: Training(POINT, ASCPO, 1, column).name for column in COLUMNS}
        assert names == {
            "published": f"{POINT}-ascpo-published-seed1",
            "released": f"{POINT}-ascpo-released-seed1",
            "ours": f"{POINT}-ascpo-seed1",
        }

    @pytest.mark.parametrize("column", ["published", "released"])
    def test_a_column_has_the_settings_of_its_preset_and_not_our_target_probability(self, column):
        config = Training(POINT, ASCPO, 1, column).config(1.0)
        assert config == configure(POINT, "ascpo", seed=1, preset=column)
        assert config.fingerprint != Training(POINT, ASCPO, 1).config(1.0).fingerprint
        found = flat(config.plain())
        preset = {name: to_plain(value) for name, value in PRESETS[column]["ascpo"].items()}
        assert {name: found[name] for name in preset} == preset

    def test_overrides_precede_the_preset_and_the_variant_precedes_both(self):
        paper_mode = next(variant for variant in COMPARED.variants if variant.name == "ascpo-paper")
        config = Training(POINT, paper_mode, 0, "released").config(1.0, {"ascpo.mode": "moment", "horizon": 50})
        assert (config.method.mode, config.settings.horizon) == ("paper", 50)
        assert config.method.target == Training(POINT, ASCPO, 0, "released").config(1.0).method.target

    @pytest.mark.parametrize("algo", SAME_IN_BOTH)
    def test_presets_with_equal_settings_share_a_run(self, algo):
        one, two = (Training(POINT, Variant(algo, algo), 0, column) for column in ("published", "released"))
        assert one.name == two.name == f"{POINT}-{algo}-published-seed0"
        assert one.config(1.0) == two.config(1.0)

    def test_the_comparison_has_every_algorithm_with_every_settings_but_none_twice(self):
        trainings = COMPARED.trainings()
        assert len(trainings) == 2 * (3 * 8 - 1) * 5
        assert len({training.name for training in trainings}) == 2 * (3 * 8 - 1 - len(SAME_IN_BOTH)) * 5
        assert not [t for t in trainings if (t.variant.name, t.column) == ("ascpo-paper", "published")]
        published = Training(POINT, ASCPO, 0, "published").config(1.0)
        assert published.method.mode == "paper"

    def test_our_column_is_trained_unless_others_are_requested(self, store, monkeypatch):
        wanted = []
        monkeypatch.setattr("ascpo.cli.paper.plans", lambda request: wanted.extend(plans(request)) or [])
        common = ["q1", "--suites", POINT, "--algos", "scpo", "--seeds", "0", "--out", str(store.out)]
        for typed in ([], ["--as", "published", "released"], ["--as", "released", "--as", "ours"]):
            paper.main(["run", *common, *typed])
        names = [[job.name.removeprefix(f"{POINT}-") for job in plan.jobs] for plan in wanted]
        assert names == [
            ["scpo-seed0"],
            ["scpo-published-seed0", "scpo-released-seed0"],
            ["scpo-released-seed0", "scpo-seed0"],
        ]

    def test_an_unknown_column_is_refused_with_the_known_ones(self, capsys):
        with pytest.raises(SystemExit):
            paper.main(["run", "q1", "--as", "releasd"])
        assert "'published', 'released', 'ours'" in " ".join(capsys.readouterr().err.replace("│", "").split())

    def test_a_column_without_the_variant_is_refused(self, store):
        with pytest.raises(BadSetting, match="with these settings"):
            plans(Request(("columns",), store, algos=["ascpo-paper"], columns=(("published",),)))


@pytest.mark.usefixtures("apart")
class TestPages:
    """What is shown."""

    def test_columns_are_shown_beside_each_other_and_the_printed_figures(self, store):
        write_column(store, "released")
        write_column(store, "ours", LEVEL, seeds=2)
        table = next(table for table in page_of(COMPARED, store).tables if table.title.startswith(f"{POINT}: M_c"))
        assert list(table.columns) == ["algorithm", "printed", "released", "ours", "seeds of each"]
        row = next(row for row in table.cells() if row[0] == "scpo")
        assert row == ["scpo", "0.0919", "0.0937 ± 0.0018", "0.0412 ± 0.0006", "3, 2"]

    def test_violations_and_time_outs_have_tables_if_they_were_logged(self, store):
        for column, safe in (("released", 0.75), ("ours", 0.875)):
            with_shares(write_run(store, COMPARED, Training(POINT, ASCPO, 0, column)), safe, 0.125)
        tables = {table.title.split(",")[0]: table for table in page_of(COMPARED, store).tables}
        rows = {name: tables[f"{POINT}: {name}"].cells()[5] for name in ("violations", "timeouts")}
        assert rows == {
            "violations": ["ascpo", "0.2500", "0.1250", "1, 1"],
            "timeouts": ["ascpo", "0.1250", "0.1250", "1, 1"],
        }

    def test_every_column_has_its_own_verdicts(self, store):
        write_column(store, "released")
        write_column(store, "ours", LEVEL)
        page = page_of(COMPARED, store)
        verdicts = {(one.claim, one.column): one.verdict for one in page.claims}
        claim = f"M_c of ascpo below scpo's, on {POINT}"
        assert verdicts[claim, "released"] == "reproduced"
        assert verdicts[claim, "ours"] == "not reproduced"
        rows = [row for row in page.all_tables()[-1].cells() if row[0] == claim]
        assert [(row[1], row[-1]) for row in rows] == [("released", "reproduced"), ("ours", "not reproduced")]

    def test_sentences_say_what_was_measured_and_where_seeds_do_not_decide(self, store):
        write_column(store, "released")
        write_column(store, "ours", LEVEL)
        said = page_of(COMPARED, store).findings
        assert (
            f"{POINT} with the released settings: M_c is lowest for ascpo, 0.0421 ± 0.0008 (worst of 3 seeds 0.0430), "
            "and highest for trpo, 0.6346 ± 0.0124 (worst of 3 seeds 0.6471). The seeds distinguish ascpo from all "
            "others."
        ) in said
        (ours,) = (sentence for sentence in said if sentence.startswith(f"{POINT} with our settings"))
        assert "The seeds do not distinguish" in ours
        (scpo,) = (sentence for sentence in said if sentence.startswith("scpo on"))
        assert "0.0937 ± 0.0018 (worst of 3 seeds 0.0956) with the released settings" in scpo
        assert "(the paper prints 0.0919). With our settings M_c is lower than with the released settings, by a" in scpo
        assert "factor of 2.3 (95 % interval 2.2 to 2.4)" in scpo
        (trpo,) = (sentence for sentence in said if sentence.startswith("trpo on"))
        assert "The seeds show no difference of M_c between the released settings and our settings." in trpo
        assert f"{GHOST}: no run with our settings is finished." in said
        assert "No run with the published settings is finished, so they are not compared." in said

    def test_higher_costs_of_our_settings_are_reported_and_one_seed_decides_nothing(self, store):
        write_column(store, "published", {"cpo": 0.01})
        write_column(store, "released", seeds=1)
        write_column(store, "ours", {"cpo": 0.04})
        (cpo,) = (sentence for sentence in page_of(COMPARED, store).findings if sentence.startswith("cpo on"))
        assert "M_c is higher than with the published settings, by a factor of 4" in cpo
        assert "A single seed says nothing about the difference between the released settings and our" in cpo

    def test_runs_from_before_the_columns_are_ours_and_the_page_says_what_others_need(self, store):
        write_column(store, "ours", experiment=Q1)
        page = page_of(experiments(f"q1-{POINT}")[0], store, command="ascpo paper run q1")
        assert {one.column for one in page.claims} == {"ours"}
        assert page.findings == []
        assert list(page.all_tables()[-1].columns) == ["claim", "ours", "printed", "verdict"]
        assert (
            "No run with the published settings or the released settings is finished. To train some: "
            "ascpo paper run q1 --as published released"
        ) in page.notes

    def test_each_column_has_its_own_learning_curves(self, store, no_pictures):
        write_column(store, "released", seeds=2)
        write_column(store, "ours", seeds=1)
        page_of(COMPARED, store)
        assert [(path.name, len(rows[POINT]["cpo"])) for path, rows in no_pictures] == [
            ("columns-released", 2),
            ("columns", 1),
        ]


@pytest.mark.usefixtures("apart")
class TestExported:
    """Results without run directories."""

    def test_exported_runs_are_shown_like_their_directories(self, store, tmp_path, no_pictures):
        write_column(store, "released")
        write_column(store, "ours", LEVEL)
        export(tmp_path / "out", store, [COMPARED])
        again = PaperStore(tmp_path / "nothing", store.scale, tmp_path / "out")
        before, after = page_of(COMPARED, store), page_of(COMPARED, again)
        assert [table.cells() for table in after.all_tables()] == [table.cells() for table in before.all_tables()]
        assert after.findings == before.findings
        assert f"24 finished runs are in {tmp_path / 'out'}, by the engine native." in after.notes
        curves = [rows[POINT]["scpo"][0]["EpCost"] for _, rows in no_pictures]
        assert curves[0] == pytest.approx(curves[2])

    def test_an_export_grows_over_several_calls_and_keeps_deleted_runs(self, tmp_path):
        for column in ("released", "ours"):
            store = store_in(tmp_path / column)
            write_column(store, column, seeds=2)
            runs, curves, summary = export(tmp_path / "out", store, [COMPARED])
        assert [row["settings"] for row in read(runs)] == ["released"] * 8 + ["ours"] * 8
        assert runs.read_text().startswith("suite,algorithm,settings,seed,engine,steps,total_steps,last,")
        assert len(read(curves)) == 2 * len(read(runs))
        assert [row["settings"] for row in read(summary) if row["part"] == "end"] == ["released"] * 4 + ["ours"] * 4

    def test_a_stopped_run_does_not_replace_a_finished_one(self, tmp_path):
        training = Training(POINT, ASCPO, 0, "released")
        for name, epochs in (("whole", 2), ("stopped", 1)):
            store = store_in(tmp_path / name)
            write_run(store, COMPARED, training, epochs=epochs)
            runs, *_ = export(tmp_path / "out", store, [COMPARED])
        assert [row["steps"] for row in read(runs)] == ["60000"]

    def test_the_summary_has_the_mean_the_worst_seed_and_the_deviation(self, store, tmp_path):
        for seed, J_r, M_c in ((0, 2.0, 0.1), (1, 2.4, 0.3)):
            run = write_run(store, COMPARED, Training(POINT, ASCPO, seed, "released"), J_r, M_c)
            with_shares(run, 1 - M_c, 0.05)
        write_run(store, COMPARED, Training(POINT, ASCPO, 2, "released"), M_c=9.0, epochs=1)
        *curve, end = read(export(tmp_path / "out", store, [COMPARED])[2])
        assert [(row["part"], row["steps"]) for row in curve] == [("curve", "30000"), ("curve", "60000")]
        assert (end["part"], end["steps"], end["seeds"], end["settings"]) == ("end", "60000", "2", "released")
        numbers = {name: float(value) for name, value in end.items() if "_" in name}
        assert (numbers["J_r_mean"], numbers["J_r_worst"]) == pytest.approx((2.2, 2.0))
        assert (numbers["M_c_mean"], numbers["M_c_worst"]) == pytest.approx((0.2, 0.3))
        assert numbers["M_c_deviation"] == pytest.approx(0.2 / 2**0.5, rel=1e-4)
        assert (numbers["violations_worst"], numbers["timeouts_mean"]) == pytest.approx((0.3, 0.05))

    def test_a_sweep_skips_runs_that_are_finished_in_the_results(self, store, tmp_path):
        write_column(store, "released", seeds=2)
        write_run(store, COMPARED, Training(POINT, ASCPO, 2, "released"), epochs=1)
        export(tmp_path / "out", store, [COMPARED])
        fresh = PaperStore(tmp_path / "fresh", store.scale, tmp_path / "out")
        (plan,) = plans(Request(("columns",), fresh, [POINT], ["ascpo"], [0, 1, 2], columns=(("released",),)))
        assert [job.name for job in plan.jobs] == [f"{POINT}-ascpo-released-seed2"]
        assert (plan.exported, plan.notes) == (2, (f"2 runs are finished in {tmp_path / 'out'}.",))

    def test_results_of_other_settings_are_refused(self, store, tmp_path):
        write_run(store, COMPARED, Training(POINT, ASCPO, 0, "released"), discount=0.9)
        export(tmp_path / "out", store, [COMPARED])
        fresh = PaperStore(tmp_path / "fresh", store.scale, tmp_path / "out")
        with pytest.raises(BadSetting, match=r"discount=0\.9, but this sweep needs .* no overridden settings"):
            plans(Request(("columns",), fresh, [POINT], ["ascpo"], [0], columns=(("released",),)))
        assert any("with the overridden settings discount=0.9" in note for note in page_of(COMPARED, fresh).notes)

    @pytest.mark.parametrize(
        ("typed", "answer"),
        [
            (["--scale", "0.02"], r"runs of 60,000 steps, not of 120,000. Try --scale 0.01"),
            (["--scale", "0.01", "--last", "5"], "means over the last 1 epochs, not 5. Try --last 1"),
        ],
    )
    def test_results_of_another_length_are_refused(self, store, tmp_path, typed, answer):
        write_column(store, "ours", seeds=1)
        export(tmp_path / "out", store, [COMPARED])
        with pytest.raises(BadSetting, match=answer):
            paper.main(["show", "columns", "--results", str(tmp_path / "out"), *typed])

    def test_a_directory_without_results_is_refused_with_the_command_that_writes_them(self, tmp_path):
        with pytest.raises(BadSetting, match=r"has no runs.csv. `ascpo paper show NAME --export"):
            paper.main(["show", "columns", "--results", str(tmp_path)])

    def test_tables_from_before_the_columns_are_ours(self, store, tmp_path):
        (tmp_path / "runs.csv").write_text(
            f"suite,algorithm,seed,engine,steps,total_steps,J_r,M_c,rho_c\n{POINT},trpo,0,native,60000,60000,2,0.5,0.01\n"
        )
        page = page_of(Q1, PaperStore(tmp_path / "nothing", store.scale, tmp_path))
        assert [row[:3] for row in page.tables[0].cells() if row[0] == "trpo"] == [["trpo", "1", "2.000"]]
