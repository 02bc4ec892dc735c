"""Runs as bytes, and back."""

import pytest

from ascpo.runs.files import CannotWrite
from ascpo.sweep.executors import packing
from ascpo.sweep.executors.packing import pack, unpack


def write(run, **files):
    for name, text in files.items():
        path = run / name.replace("__", "/").replace("_csv", ".csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def content(run):
    return {str(path.relative_to(run)): path.read_text() for path in run.rglob("*") if path.is_file()}


def test_a_transferred_run_replaces_its_earlier_state(tmp_path):
    there, here = tmp_path / "there", tmp_path / "here"
    write(there / "run", metrics_csv="1\n2\n", checkpoints__2__arrays="new")
    write(here / "run", metrics_csv="1\n", checkpoints__1__arrays="old", notes="mine")
    unpack(pack([there / "run", there / "not yet"]), here)
    assert content(here / "run") == {"metrics.csv": "1\n2\n", "checkpoints/2/arrays": "new", "notes": "mine"}
    assert [path.name for path in here.iterdir()] == ["run"]


def test_locks_and_incomplete_files_are_not_transferred(tmp_path):
    run = tmp_path / "run"
    write(run, metrics_csv="1\n")
    for name in (".lock", ".claim", "policy.safetensors.part", "checkpoints/3.orbax-checkpoint-tmp/arrays"):
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).touch()
    (tmp_path / "here").mkdir()
    unpack(pack([run]), tmp_path / "here")
    assert list(content(tmp_path / "here" / "run")) == ["metrics.csv"]


def test_runs_that_are_too_large_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "LARGEST", 1000)
    write(tmp_path / "run", metrics_csv="1\n" * 1000)
    with pytest.raises(CannotWrite, match=r"The files of run have .* Use smaller batches, or a shared file system"):
        pack([tmp_path / "run"])


def test_a_run_that_has_not_begun_is_not_transferred(tmp_path):
    unpack(pack([tmp_path / "run"]), tmp_path)
    unpack(b"", tmp_path)
    assert list(tmp_path.iterdir()) == []
