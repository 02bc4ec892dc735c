"""Sweeps by the command line, with trainings that take no time."""

import io
import json
import threading
import time
from dataclasses import replace

import pytest

from ascpo.runs.serialization import BadSetting
from ascpo.sweep.directory import SweepDirectory
from ascpo.sweep.executors import InProcess
from ascpo.sweep.executors.choose import Placement, open_executor
from ascpo.sweep.executors.contract import Resources
from tests.sweep.helpers import job, write_run

GRID = ("--env", "Point-1-Hazard", "--algo", "trpo", "--seeds", "0..2", "--total-steps", 6e4, "--evaluate", 0)


@pytest.fixture
def trained(monkeypatch):
    """The trained runs, by name. A run in `bad` fails."""
    found, bad = [], set()

    def train(batch):
        for one in batch:
            if one.name in bad:
                raise RuntimeError("Epoch 7 made numbers that are not finite.")
            write_run(one)
        found.append([one.name.removeprefix("Point-1-Hazard-") for one in batch])

    monkeypatch.setattr("ascpo.cli.sweep.open_executor", lambda placement, jobs, folder: InProcess(train))
    return found, bad


def test_a_sweep_prints_its_plan_and_trains_every_run(ascpo, tmp_path, trained):
    said = ascpo("sweep", *GRID, "--out", tmp_path)
    assert "3 runs, 0 of them finished. 3 to train, in 3 batches." in said
    assert "3 trained, 0 finished before, 0 failed." in said
    assert trained[0] == [["trpo-seed0"], ["trpo-seed1"], ["trpo-seed2"]]
    assert "0 trained, 3 finished before" in ascpo("sweep", "resume", tmp_path)
    assert "3 runs: 3 done, 0 running, 0 failed, 0 waiting" in ascpo("sweep", "status", tmp_path)


def test_runs_train_in_batches_of_the_requested_size(ascpo, tmp_path, trained):
    ascpo("sweep", *GRID, "--batch", 2, "--out", tmp_path)
    assert trained[0] == [["trpo-seed0", "trpo-seed1"], ["trpo-seed2"]]


def test_a_failed_run_is_in_the_status_with_its_error_and_is_tried_again(ascpo, tmp_path, trained):
    trained[1].add("Point-1-Hazard-trpo-seed1")
    with pytest.raises(SystemExit) as end:
        ascpo("sweep", *GRID, "--out", tmp_path)
    assert end.value.code == 1
    said = ascpo("sweep", "status", tmp_path)
    assert "2 done, 0 running, 1 failed, 0 waiting" in said
    assert "Point-1-Hazard-trpo-seed1: Epoch 7 made numbers that are not finite." in said
    trained[1].clear()
    assert "1 trained, 2 finished before, 0 failed." in ascpo("sweep", "resume", tmp_path)


def test_a_long_sweep_needs_a_confirmation(ascpo, tmp_path, trained, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(SystemExit) as end:
        ascpo("sweep", *GRID[:-3], 1e9, "--evaluate", 0, "--out", tmp_path)
    assert (end.value.code, trained[0]) == (2, [])
    assert "Add --yes to start without a question" in capsys.readouterr().err


def test_a_dry_sweep_trains_nothing(ascpo, tmp_path, trained):
    assert "3 to train" in ascpo("sweep", *GRID, "--dry", "--out", tmp_path)
    assert trained[0] == []


def test_a_file_and_flags_are_not_mixed(ascpo, tmp_path):
    (tmp_path / "sweep.toml").write_text('algo = "trpo"')
    with pytest.raises(SystemExit, match="Write all of it into the file"):
        ascpo("sweep", tmp_path / "sweep.toml", "--seeds", "0..3", "--out", tmp_path)


def test_a_directory_without_a_sweep_is_refused_with_a_message(ascpo, tmp_path):
    for verb in ("status", "stop", "resume"):
        with pytest.raises(SystemExit, match="holds no sweep"):
            ascpo("sweep", verb, tmp_path)


def test_a_sweep_of_a_foreign_environment_is_resumed_only_if_it_is_trusted(ascpo, tmp_path, trained):
    ascpo("sweep", *GRID, "--out", tmp_path)
    file = tmp_path / ".sweep" / "sweep.json"
    file.write_text(file.read_text().replace('"env": "Point-1-Hazard"', '"env": "evil:make"'))
    with pytest.raises(SystemExit, match="--trust-env"):
        ascpo("sweep", "resume", tmp_path)


class Endless:
    """An executor whose tasks never end on their own."""

    slots, most_runs, cancelled = 1, 1, 0

    def has_room(self, job):
        return True

    def submit(self, batches):
        return [0] * len(batches)

    def poll(self):
        return {}

    def nodes(self):
        return {}

    def cancel(self, tasks):
        self.cancelled += len(tasks)

    def close(self): ...


def test_a_sweep_stops_at_the_request_of_another_process(ascpo, tmp_path, monkeypatch):
    executor = Endless()
    monkeypatch.setattr("ascpo.cli.sweep.open_executor", lambda placement, jobs, folder: executor)

    def ask():
        record, end = SweepDirectory(tmp_path), time.monotonic() + 60
        while time.monotonic() < end and not (record.folder.exists() and record.driver()):
            time.sleep(0.05)
        time.sleep(0.3)
        record.request_stop()

    asking = threading.Thread(target=ask)
    asking.start()
    with pytest.raises(SystemExit) as end:
        ascpo("sweep", *GRID, "--out", tmp_path)
    asking.join()
    assert (end.value.code, executor.cancelled) == (143, 1)
    assert SweepDirectory(tmp_path).driver() == ""


def test_only_one_process_drives_a_sweep(tmp_path, ascpo, trained):
    import filelock

    (tmp_path / ".sweep").mkdir()
    with (
        filelock.FileLock(tmp_path / ".sweep" / "driver.lock"),
        pytest.raises(SystemExit, match="Another process drives"),
    ):
        ascpo("sweep", *GRID, "--out", tmp_path)
    assert trained[0] == []


@pytest.mark.parametrize(
    ("placement", "why"),
    [
        ({"on": "ray", "jobs": 4}, "jobs=4 changes nothing: ray decides how many"),
        ({"files": "sent"}, "files=sent changes nothing: only Ray"),
        ({"slurm": ("partition=gpu",)}, "slurm changes nothing: it is for --on slurm"),
        ({"on": "mars"}, "--on mars is unknown"),
    ],
)
def test_an_executor_refuses_settings_that_change_nothing_there(tmp_path, placement, why):
    with pytest.raises(BadSetting, match=why):
        open_executor(Placement(**placement), [job(tmp_path)], tmp_path)


def test_a_resumed_sweep_keeps_the_options_that_the_machines_have():
    here = Placement(jobs=3, resources=Resources(cores=2))
    assert here.moved("local") == here
    assert here.moved("ray") == Placement("ray", resources=Resources(cores=2))
    cluster = Placement("host:1", files="sent", resources=Resources(memory=4.0))
    assert cluster.moved("host:2") == replace(cluster, on="host:2")
    assert cluster.moved("local") == Placement(), "memory is reserved on clusters only"


def test_a_sweep_stores_plain_data_about_itself(ascpo, tmp_path, trained):
    ascpo("sweep", *GRID, "--out", tmp_path)
    jobs, placement, sizes = SweepDirectory(tmp_path).read()
    assert [one.config.seed for one in jobs] == [0, 1, 2]
    assert (placement, sizes.host) == (Placement(), 1)
    assert set(json.loads((tmp_path / ".sweep" / "sweep.json").read_text())) == {"jobs", "placement", "batches"}


def test_a_mistyped_verb_is_told_from_a_file(ascpo, capsys, tmp_path):
    for typed, hint in (("sttus", "Did you mean status?"), (tmp_path, "There are: status, stop, resume.")):
        with pytest.raises(SystemExit):
            ascpo("sweep", typed, "--out", tmp_path / "out")
        said = f"There is no file {typed}. Name a TOML file with grids, or a verb. {hint}"
        assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_sweep_into_a_file_is_refused_with_the_file(ascpo, capsys, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as end:
        ascpo("sweep", *GRID, "--dry", "--out", tmp_path / "file")
    assert end.value.code == 1
    assert f"{tmp_path / 'file'} could not be written: Not a directory." in capsys.readouterr().err
