"""Runs that continue on another machine."""

import gzip
import shutil
import tarfile

import numpy as np
import pytest

import ascpo
from ascpo.runs.archives import packed, unpacked
from ascpo.runs.directory import RunDirectory, find
from ascpo.runs.files import BadFile, NoRun
from ascpo.runs.sealed import sealed_arrays
from ascpo.sweep import transfer
from ascpo.sweep.executors import packing
from ascpo.sweep.transfer import pack_runs, unpack_runs
from tests.runs.helpers import EPOCH, POINT, tiny
from tests.slow import slow
from tests.sweep.helpers import job, write_run


def stored(run):
    return sorted(str(path.relative_to(run)) for path in run.rglob("*") if path.is_file())


def checkpoint(run, epochs):
    for one in epochs:
        (run.checkpoints / str(one)).mkdir(parents=True)
        (run.checkpoints / str(one) / "arrays").write_text(f"after {one}")


def save_policy(run, kind="average"):
    first = 1 if kind == "average" else 2
    about = {"epochs": 2, "kind": kind, "mean_of": [first, 2]}
    run.policy.write_bytes(sealed_arrays(about, {"theta": np.zeros(1, np.float32)}))
    return run


def some_runs(store):
    """A finished run, and one that was stopped after its first epoch."""
    finished, stopped = save_policy(write_run(job(store, seed=0))), write_run(job(store / "alone", seed=1), epochs=1)
    checkpoint(finished, (1, 2))
    checkpoint(stopped, (0, 1))
    (finished.path / "report").mkdir()
    (finished.path / "report" / "index.html").write_text("made again in a second")
    return finished, stopped


def test_only_the_last_checkpoint_of_an_unfinished_run_is_transferred(tmp_path):
    some_runs(tmp_path / "there")
    files = pack_runs(tmp_path / "there", tmp_path / "carried" / "runs")
    assert [(file.name, runs) for file, runs in files] == [("runs-1.tar", 2)]
    happened = unpack_runs([file for file, _ in files], tmp_path / "here")
    assert set(happened.values()) == {"new"}
    here = tmp_path / "here"
    finished, stopped = here / "Point-1-Hazard-trpo-seed0", here / "alone" / "Point-1-Hazard-trpo-seed1"
    assert stored(finished) == [".lock", "config.json", "metrics.csv", "policy.safetensors"]
    assert stored(stopped) == [".lock", "checkpoints/1/arrays", "config.json", "metrics.csv"]


def test_a_run_is_replaced_only_by_a_more_advanced_state_of_itself(tmp_path):
    early, late = tmp_path / "early", tmp_path / "late"
    checkpoint(write_run(job(early), epochs=1), (1,))
    checkpoint(save_policy(write_run(job(late))), (1, 2))
    (first,), (second,) = pack_runs(early, tmp_path / "a"), pack_runs(late, tmp_path / "b")
    here = tmp_path / "here"
    name = "Point-1-Hazard-trpo-seed0"
    assert unpack_runs([first[0]], here) == {name: "new"}
    assert unpack_runs([second[0]], here) == {name: "further"}
    assert unpack_runs([first[0], second[0]], here) == {name: "kept"}
    assert not (here / name / "checkpoints").exists()


@pytest.mark.parametrize("kind", [None, "last"])
def test_a_run_without_its_final_policy_keeps_its_last_checkpoint(tmp_path, kind):
    """It was killed after the row of its last epoch, or before a policy was selected."""
    run = write_run(job(tmp_path / "there"))
    checkpoint(run, (1,))
    if kind:
        save_policy(run, kind)
    ((file, _),) = pack_runs(tmp_path / "there", tmp_path / "runs")
    unpack_runs([file], tmp_path / "here")
    assert (tmp_path / "here" / run.path.name / "checkpoints" / "1" / "arrays").exists()
    checkpoint(save_policy(run), (2,))
    ((file, _),) = pack_runs(tmp_path / "there", tmp_path / "runs")
    assert unpack_runs([file], tmp_path / "here") == {run.path.name: "further"}


def test_a_run_with_other_settings_is_not_replaced(tmp_path):
    write_run(job(tmp_path / "there", discount=0.9))
    ((file, _),) = pack_runs(tmp_path / "there", tmp_path / "runs")
    here = write_run(job(tmp_path / "here"), epochs=1)
    before = here.config_file.read_bytes()
    with pytest.raises(NoRun, match=r"is another run than the packed one, which has discount=0\.9 instead of"):
        unpack_runs([file], tmp_path / "here")
    assert here.config_file.read_bytes() == before


def test_an_interrupted_unpacking_can_be_repeated(tmp_path, monkeypatch):
    run = write_run(job(tmp_path / "there"), epochs=1)
    checkpoint(run, (1,))
    ((file, _),) = pack_runs(tmp_path / "there", tmp_path / "runs")
    here = RunDirectory(tmp_path / "here" / run.path.name)

    def killed(content, folder):
        here.config_file.write_bytes(run.config_file.read_bytes())
        here.metrics.write_bytes(run.metrics.read_bytes())
        raise KeyboardInterrupt

    monkeypatch.setattr(transfer, "unpack", killed)
    with pytest.raises(KeyboardInterrupt):
        unpack_runs([file], tmp_path / "here")
    monkeypatch.undo()
    assert unpack_runs([file], tmp_path / "here") == {run.path.name: "further"}
    assert stored(here.path) == [".lock", "checkpoints/1/arrays", "config.json", "metrics.csv"]
    assert unpack_runs([file], tmp_path / "here") == {run.path.name: "kept"}


def test_what_a_killed_process_left_of_unpacking_is_no_run(tmp_path):
    run = write_run(job(tmp_path / "there"))
    shutil.copytree(run.path, tmp_path / "there" / ".incoming-x" / run.path.name)
    assert [runs for _, runs in pack_runs(tmp_path / "there", tmp_path / "runs")] == [1]


def test_a_damaged_run_of_a_file_is_refused_with_a_sentence(tmp_path):
    write_run(job(tmp_path / "there"))
    ((file, _),) = pack_runs(tmp_path / "there", tmp_path / "runs")
    index, ((name, content),) = (
        part if i == 0 else part.items() for i, part in enumerate(unpacked(file, "ascpo runs 1"))
    )
    not_a_tar = gzip.compress(b"not an archive" * 100)
    cut, flipped = content[:-20], content[:40] + bytes(255 - x for x in content[40:60]) + content[60:]
    for bad in (cut, flipped, not_a_tar):
        file.write_bytes(packed(index, {name: bad}))
        with pytest.raises(BadFile, match=r"runs-1\.tar is damaged"):
            unpack_runs([file], tmp_path / "here")


def test_transferred_files_are_no_larger_than_requested(tmp_path):
    for seed in range(4):
        write_run(job(tmp_path / "there", seed=seed))
    files = pack_runs(tmp_path / "there", tmp_path / "parts", largest=2000)
    assert sum(runs for _, runs in files) == 4
    assert len(files) > 1
    assert len(unpack_runs([file for file, _ in files], tmp_path / "here")) == 4


def test_a_single_run_may_be_larger_than_what_a_cluster_sends(tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "LARGEST", 1000)
    write_run(job(tmp_path / "there"))
    ((file, runs),) = pack_runs(tmp_path / "there", tmp_path / "runs", largest=1000)
    assert runs == 1
    assert list(unpack_runs([file], tmp_path / "here").values()) == ["new"]


def test_a_running_training_is_not_overwritten(tmp_path):
    write_run(job(tmp_path / "there"))
    ((file, _),) = pack_runs(tmp_path / "there", tmp_path / "runs")
    run = write_run(job(tmp_path / "here"), epochs=1)
    with RunDirectory(run.path).locked(), pytest.raises(NoRun, match="Another training is writing to"):
        unpack_runs([file], tmp_path / "here")


def test_other_files_and_places_outside_are_refused(tmp_path):
    other = tmp_path / "other.tar"
    with tarfile.open(other, "w"):
        pass
    with pytest.raises(BadFile, match=r"other\.tar is damaged, or this program did not write it"):
        unpack_runs([other], tmp_path / "here")
    write_run(job(tmp_path / "there"))
    ((file, _),) = pack_runs(tmp_path / "there", tmp_path / "runs")
    file.write_bytes(file.read_bytes().replace(b"Point-1-Hazard-trpo-seed0", b"../../azard-trpo-seed0-xy"))
    with pytest.raises(BadFile, match="leads out of it"):
        unpack_runs([file], tmp_path / "here")
    with pytest.raises(NoRun, match="holds no run"):
        pack_runs(tmp_path / "nowhere", tmp_path / "runs")


@slow("trains three times")
def test_a_transferred_run_continues_as_if_it_had_stayed(tmp_path):
    def train(out, epochs):
        how = {"total_steps": epochs * EPOCH, "progress": False, **tiny("trpo")}
        return ascpo.train(POINT, "trpo", out=out, **how).directory

    stayed = train(tmp_path / "stayed", 2)
    train(tmp_path / "there", 1)
    ((run),) = (tmp_path / "there").iterdir()
    plain = find(run)
    config = plain.config()
    plain.write_config(plain.plain_config(config) | {"total_steps": 2 * EPOCH})
    ((file, _),) = pack_runs(tmp_path / "there", tmp_path / "runs")
    unpack_runs([file], tmp_path / "here")
    moved = ascpo.resume(tmp_path / "here" / run.name, progress=False).directory
    assert (moved / "metrics.csv").read_bytes() == (stayed / "metrics.csv").read_bytes()
    assert (moved / "policy.safetensors").read_bytes() == (stayed / "policy.safetensors").read_bytes()
