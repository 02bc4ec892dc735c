"""The Python interface: train, evaluate, certify, report and compare, with tables for notebooks."""

import importlib
import math
import subprocess
import sys
from pathlib import Path

import pytest

import ascpo
from ascpo.runs.result import Result
from ascpo.runs.serialization import BadSetting
from ascpo.runs.trust import note_for
from tests.evaluation.untrained import untrained
from tests.own import Cart
from tests.report.made import evaluated, made, table
from tests.runs.helpers import EPOCH, TINY
from tests.slow import slow

QUIET = {"progress": False}


class InNotebook(Cart):
    """An environment that seems to be defined in a notebook."""


InNotebook.__module__ = "__main__"
InNotebook.__qualname__ = "InNotebook"


def test_a_result_has_columns_and_a_table(tmp_path):
    result = Result(made(tmp_path / "run", epochs=7, EpRet=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, math.nan]))
    assert list(result.metrics["Epoch"]) == list(range(7))
    assert result.history is result.metrics
    assert (result.epochs, result.stopped_early) == (7, False)
    assert result.timing["WallClock"][-1] == 70.0
    shown = result._repr_html_()
    assert "Point-1-Hazard, ascpo, seed 0: 7 of 7 epochs" in shown
    assert "<td>700</td>" in shown, "steps are whole numbers"
    assert "<td>6</td>" in shown
    assert "<td>–</td>" in shown, "NaN is not a figure"
    assert "<td>100</td>" not in shown, "the last epochs alone"


@slow("trains")
def test_an_environment_from_a_notebook_must_be_passed_again(tmp_path):
    run = untrained(tmp_path, env="__main__:InNotebook", factory=InNotebook)
    with pytest.raises(BadSetting, match=r"of a script or a notebook.* evaluate and certify take env=InNotebook\."):
        ascpo.evaluate(run, 4, **QUIET)
    assert ascpo.evaluate(run, 4, env=InNotebook, **QUIET).figures["Episodes"] == 4
    certified = ascpo.certify(run, episodes=12, probability=0.5, env=InNotebook, **QUIET)
    assert certified.table["episodes"] == [12]


def test_no_hint_about_notebooks_if_the_environment_can_be_found_by_its_name():
    assert note_for("Point-8-Hazard") == note_for("tests.own:make") == ""
    assert "pass the function that makes the environment again" in note_for("tests.own:test.<locals>.<lambda>")


@slow("trains")
def test_a_training_in_a_notebook_says_beforehand_how_it_continues(tmp_path, capsys):
    result = ascpo.train(InNotebook, out=tmp_path, total_steps=2 * EPOCH, **TINY)
    said = " ".join(capsys.readouterr().out.split())
    assert "Note: Other programs cannot import InNotebook by its name." in said
    assert ascpo.resume(result.directory, env=InNotebook, total_steps=3 * EPOCH, **QUIET).epochs == 3


def test_an_evaluation_has_figures_with_intervals_and_a_row_per_episode(tmp_path):
    found = ascpo.evaluate(untrained(tmp_path), 6, actions="mean", **QUIET)
    assert len(found.episodes["EpRet"]) == 6
    assert found.figures["EpRet"] == pytest.approx(found.episodes["EpRet"].mean(), rel=1e-4)
    low, high = found.intervals["SafeRate"]
    assert low <= found.figures["SafeRate"] <= high
    row = found.summary["figure"].index("SafeRate")
    assert (found.summary["low"][row], found.summary["high"][row]) == (low, high)
    assert "fresh episodes with mean actions" in found._repr_html_()


@slow("plays")
def test_certificates_of_several_runs_are_compared(tmp_path):
    runs = [untrained(tmp_path / str(shift), shift=shift) for shift in (0.0, 0.5)]
    found = ascpo.certify(*runs, episodes=12, probability=0.5, **QUIET)
    assert len(found.comparisons) == 1
    assert found.certified == all(found.table["certified"])
    assert "12 episodes of tests/Cart-v0 were planned and played" in found._repr_html_()
    alone = ascpo.certify(runs[0] / "policy.safetensors", episodes=12, probability=0.5, **QUIET)
    assert alone.directories == (runs[0],), "that of its file, too"
    with pytest.raises(BadSetting, match="at least one run"):
        ascpo.certify()


def test_a_report_is_written_by_calling_the_package(tmp_path, monkeypatch):
    written = importlib.import_module("ascpo.report.written")
    monkeypatch.setattr(written, "write_report", lambda runs, out: out / f"{len(runs)}&.html")
    found = ascpo.report("one", Path("other"), out=tmp_path)
    assert found.page == tmp_path / "2&.html"
    assert found._repr_html_() == f'<p>Report: <a href="{tmp_path.as_uri()}/2%26.html">{tmp_path}/2&amp;.html</a></p>'
    assert importlib.import_module("ascpo.report.document").write_report, "it is still a package"


@slow("draws")
def test_a_written_report_has_figures(tmp_path):
    found = ascpo.report(Result(made(tmp_path / "run")))
    assert found.page == tmp_path / "run" / "report" / "index.html"
    assert found.figures


def three(tmp_path, algo, returns):
    return [made(tmp_path / f"{algo}{seed}", algo=algo, seed=seed, EpRet=value) for seed, value in enumerate(returns)]


def test_seeds_are_compared_by_their_means_with_intervals(tmp_path):
    three(tmp_path, "ascpo", [1.0, 2.0, 3.0])
    three(tmp_path, "cpo", [1.0, 2.0, 3.0])
    three(tmp_path, "trpo", [7.0, 8.0, 9.0])
    found = ascpo.compare(tmp_path, metrics=["EpRet"])
    assert found.table["group"] == ["ascpo", "cpo", "trpo"]
    assert found.table["value"] == [2.0, 2.0, 8.0]
    # Student's t of two degrees of freedom at 97.5 % is 4.303, and the standard error 1/√3.
    assert found.table["high"][0] == pytest.approx(2.0 + 4.303 / math.sqrt(3), abs=1e-3)
    assert found.table["over"] == ["seeds"] * 3
    assert found.differences["difference"] == [0.0, -6.0, -6.0]
    assert found.differences["differs"] == [False, True, True]
    assert "of the end of the training" in found._repr_html_()


def test_single_runs_are_compared_by_their_episodes(tmp_path):
    for algo, returns in (("ascpo", (1.0, 2.0, 3.0)), ("trpo", (7.0, 8.0, 9.0))):
        run = evaluated(made(tmp_path / algo, algo=algo))
        rows = [{"EpRet": value, "Safe": 1, "Timeout": 0} for value in returns]
        table(run / "episodes-sampled.csv", rows)
    found = ascpo.compare(tmp_path, metrics=["EpRet", "SafeRate"])
    assert found.source == "of fresh episodes"
    assert found.table["over"] == ["episodes"] * 4
    assert found.differences["differs"] == [True, False]
    assert (found.table["low"][2], found.table["high"][2]) == (0.25, 0.875), "the evaluation's own"


def test_a_run_without_an_evaluation_has_no_interval_of_its_own(tmp_path):
    one, other = made(tmp_path / "one", VaR=1.0), made(tmp_path / "other", algo="trpo")
    found = ascpo.compare(one, other, metrics=["EpRet", "VaR"])
    assert all(map(math.isnan, [*found.table["low"], *found.differences["high"]]))
    assert found.table["value"][2] == 1.0
    assert math.isnan(found.table["value"][3]), "only the first run has it"
    assert found.differences["differs"] == [False, False]


def test_a_mistyped_metric_is_refused_with_the_nearest_one(tmp_path):
    run = evaluated(made(tmp_path / "run"))
    with pytest.raises(BadSetting, match=r"No run has the metric 'EpRte'\. Did you mean EpRet"):
        ascpo.compare(run, metrics=["EpRte"])
    with pytest.raises(BadSetting, match=r"metrics='EpRet' must be a list: metrics=\['EpRet'\]"):
        ascpo.compare(run, metrics="EpRet")


@pytest.mark.parametrize("kind", ["both", "means"])
def test_an_evaluation_of_unknown_actions_is_refused_before_it_plays(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("ascpo.api.evaluation.evaluate_run", lambda *_, **__: pytest.fail("It played."))
    with pytest.raises(BadSetting, match="Use 'sampled' or 'mean'"):
        ascpo.evaluate(tmp_path, 6, actions=kind, **QUIET)


def test_a_policy_of_the_zoo_is_named_as_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = ascpo.compare("zoo:Point-1-Hazard", metrics=["SafeRate"])
    assert found.table["over"] == ["episodes"]
    assert (tmp_path / "runs/zoo/Point-1-Hazard-ascpo/policy.safetensors").exists()


def test_names_are_escaped_in_what_a_notebook_shows(tmp_path):
    run = made(tmp_path / "run", env="<script>alert(1)</script>", EpRet=[1.0, 2.0, 3.0, math.nan])
    other = made(tmp_path / "other", env="Point-1-Hazard")
    shown = ascpo.compare(run, other)._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_tables_become_data_frames_where_pandas_is_installed(tmp_path, monkeypatch):
    trained = Result(made(tmp_path / "run"))
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ValueError, match="pip install pandas"):
            trained.to_pandas()
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install pandas.")
    frame = trained.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.index.name == "Epoch"
    assert frame["EpRet"].tolist() == list(trained.metrics["EpRet"])


def test_every_name_of_the_package_is_there():
    assert all(getattr(ascpo, name) is not None for name in ascpo.__all__)
    assert {"train", "resume", "evaluate", "certify", "report", "compare", "callbacks"} <= set(dir(ascpo))


def test_comparing_and_reporting_do_not_import_jax():
    code = (
        "import sys, ascpo; ascpo.compare, ascpo.report; import ascpo.report.written; assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
