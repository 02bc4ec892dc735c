"""All runs as small tables."""

import csv
import errno
import shutil
from dataclasses import replace

import pytest

from ascpo.cli import paper
from ascpo.paper.experiments import EXPERIMENTS, Training
from ascpo.paper.export import export
from ascpo.paper.exported import read_exported
from ascpo.paper.results import PaperStore, gather
from ascpo.runs.files import BadFile, CannotWrite
from ascpo.runs.sealed import write_sealed
from tests.paper.helpers import ASCPO, TRPO, store_in, write_run

Q1 = EXPERIMENTS["q1"]


@pytest.fixture
def store(tmp_path):
    """Of 200 epochs."""
    return store_in(tmp_path / "runs", scale=1.0)


def read(file):
    with file.open() as opened:
        return list(csv.DictReader(opened))


def test_every_run_has_a_row_and_a_curve_of_at_most_forty_points(store, tmp_path):
    write_run(store, Q1, Training("Point-8-Hazard", TRPO, 0), J_r=2.5, M_c=0.25, rho_c=0.001)
    write_run(store, Q1, Training("Point-8-Hazard", ASCPO, 7), epochs=3)
    runs, curves, _ = map(read, export(tmp_path / "out", store, [Q1, EXPERIMENTS["scores"]]))
    assert [(row["algorithm"], row["seed"], row["steps"], row["total_steps"]) for row in runs] == [
        ("trpo", "0", "6000000", "6000000"),
        ("ascpo", "7", "90000", "6000000"),
    ]
    assert (runs[0]["suite"], runs[0]["engine"]) == ("Point-8-Hazard", "native")
    assert (runs[0]["J_r"], runs[0]["M_c"], runs[0]["rho_c"]) == ("2.5", "0.25", "0.001")
    trpo, ascpo = ([row for row in curves if row["algorithm"] == name] for name in ("trpo", "ascpo"))
    assert (len(trpo), len(ascpo)) == (40, 3)
    assert (trpo[0]["steps"], trpo[-1]["steps"]) == ("150000", "6000000")


def test_a_point_of_a_curve_is_a_mean_of_epochs_and_the_cost_rate_the_last_value(store, tmp_path):
    run = write_run(store, Q1, Training("Point-8-Hazard", TRPO, 0), epochs=0)
    lines = [f"{i},{(i + 1) * 30_000},{i},{2 * i},{3 * i},100" for i in range(80)]
    run.metrics.write_text("Epoch,TotalEnvInteracts,EpRet,EpCost,CostRate,EpLen\n" + "\n".join(lines) + "\n")
    (row,), curve, _ = map(read, export(tmp_path / "out", store, [Q1], last=2))
    assert (row["J_r"], row["M_c"], row["rho_c"]) == ("78.5", "157", "237")
    assert [curve[1][name] for name in ("steps", "J_r", "M_c", "rho_c")] == ["120000", "2.5", "5", "9"]


def test_an_export_of_all_of_q1_is_small(store, tmp_path):
    for training in Q1.trainings(["Point-8-Hazard"]):
        write_run(store, Q1, training, 2.34567, 0.12345, 0.0012345)
    files = export(tmp_path / "out", store, [Q1])
    assert sum(file.stat().st_size for file in files) * len(Q1.suites) < 2e6


def test_the_command_line_writes_an_export_and_says_where(tmp_path, capsys):
    store = store_in(tmp_path)
    write_run(store, Q1, Training("Point-8-Hazard", TRPO, 0))
    paper.main(["show", "q1", "--scale", "0.01", "--out", str(store.out), "--export", str(tmp_path / "out")])
    assert f"Runs: {tmp_path / 'out' / 'curves.csv'}" in capsys.readouterr().err
    assert len(read(tmp_path / "out" / "runs.csv")) == 1


def test_earlier_results_survive_an_export_that_fails(store, tmp_path, monkeypatch):
    write_run(store, Q1, Training("Point-8-Hazard", TRPO, 0))
    files = export(tmp_path / "out", store, [Q1])
    before = [file.read_bytes() for file in files]
    shutil.rmtree(store.path)
    write_run(store, Q1, Training("Point-8-Hazard", TRPO, 1))
    written = []

    def full(file, content):
        if written:
            file.write(content[:100])
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(file.write(content))

    monkeypatch.setattr("ascpo.runs.files.write_all", full)
    with pytest.raises(CannotWrite, match="No space left on device"):
        export(tmp_path / "out", store, [Q1])
    assert [file.read_bytes() for file in files] == before
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(file.name for file in files)


@pytest.mark.parametrize("name", ["runs.csv", "curves.csv", "episodes.csv"])
@pytest.mark.parametrize("damage", ["cut", "letters"])
def test_damaged_results_are_refused_with_the_name_of_the_file(store, tmp_path, name, damage):
    run = write_run(store, Q1, Training("Point-8-Hazard", TRPO, 0))
    (run.path / "episodes-sampled.csv").write_text("EpCost\n0.5\n0.25\n")
    export(tmp_path / "out", store, [Q1])
    text = (tmp_path / "out" / name).read_text()
    cut = text[: text.rindex(",", 0, text.rindex(","))]
    (tmp_path / "out" / name).write_text(cut if damage == "cut" else text.replace(",0,", ",zero,"))
    with pytest.raises(BadFile, match=rf"{name} is damaged, or this program did not write it"):
        read_exported(tmp_path / "out")


def test_without_runs_the_tables_are_empty(store, tmp_path):
    assert [read(file) for file in export(tmp_path / "out", store, [Q1])] == [[], [], []]


class TestEpisodesAfterTraining:
    """They are kept with the runs, and a page needs no run directory."""

    BOXES, STARTS = EXPERIMENTS["boxes"], EXPERIMENTS["histogram"]

    @pytest.fixture
    def results(self, store, tmp_path):
        run = write_run(store, self.BOXES, Training("Point-8-Hazard", TRPO, 0))
        (run.path / "episodes-sampled.csv").write_text("EpRet,EpCost\n1,0\n2,0.25\n3,1.5\n")
        by_start = write_run(store, self.STARTS, Training("Swimmer-1-Hazard", TRPO, 0))
        write_sealed(by_start.path / "starts.json", "starts", {"costs": {"0": [0.5, 1.5], "1": [0.0]}})
        files = export(tmp_path / "out", store, [Q1, self.BOXES, self.STARTS])
        assert "episodes.csv" in [file.name for file in files]
        return PaperStore(tmp_path / "elsewhere", 1.0, results=tmp_path / "out")

    def test_exported_episodes_have_the_numbers_of_the_run(self, results):
        assert gather(results, self.BOXES)["Point-8-Hazard", "trpo"]["cost"] == pytest.approx([1.75 / 3])
        assert gather(results, self.STARTS)["Swimmer-1-Hazard", "trpo"]["start"] == pytest.approx([1.0, 0.0])

    def test_a_run_without_episodes_is_missing_in_experiments_that_need_them(self, results):
        point, swimmer = Training("Point-8-Hazard", TRPO, 0), Training("Swimmer-1-Hazard", TRPO, 0)
        assert (results.has(self.BOXES, point), results.has(self.STARTS, swimmer)) == (True, True)
        assert results.has(Q1, swimmer)
        assert not results.has(replace(self.STARTS, suites=("Point-8-Hazard",)), point)

    def test_a_later_export_keeps_exported_episodes(self, results, store, tmp_path):
        shutil.rmtree(store.path)
        export(tmp_path / "out", store, [Q1])
        assert len(read(tmp_path / "out" / "episodes.csv")) == 3

    def test_a_run_that_was_trained_anew_does_not_keep_the_episodes_of_the_earlier_one(self, results, store, tmp_path):
        point = Training("Point-8-Hazard", TRPO, 0)
        write_run(store, self.BOXES, point)
        export(tmp_path / "out", store, [Q1])
        assert replace(results).has(self.BOXES, point), "it is the same training"
        (store.run(self.BOXES, point).path / "episodes-sampled.csv").unlink()
        write_run(store, self.BOXES, point, M_c=0.125)
        export(tmp_path / "out", store, [Q1])
        assert not replace(results).has(self.BOXES, point)
        assert replace(results).has(self.STARTS, Training("Swimmer-1-Hazard", TRPO, 0))
