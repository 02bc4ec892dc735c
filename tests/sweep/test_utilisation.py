"""The utilisation of a machine, from known samples."""

import os
import stat
import time
from pathlib import Path

import pytest

from ascpo.sweep.utilisation import FILE, Sample, UtilisationLog, read_utilisation, sentences


@pytest.fixture
def driver_says(monkeypatch, tmp_path):
    """Puts a program in the place of the GPUs' driver."""

    def put(said):
        program = tmp_path / "bin" / "nvidia-smi"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{said}\n")
        program.chmod(program.stat().st_mode | stat.S_IEXEC)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    return put


def samples_of(folder: Path, seconds=0.4) -> list[Sample]:
    with UtilisationLog(folder, every=0.1):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
    return read_utilisation(folder)


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="only Linux tells how busy each core is")
def test_the_busy_cores_and_the_mean_of_all_gpus_are_recorded(driver_says, tmp_path):
    driver_says("echo 90; echo 30")
    found = samples_of(tmp_path)
    assert len(found) >= 2
    assert max(sample.cores for sample in found) >= 0.5 / len(os.sched_getaffinity(0))
    assert {sample.gpus for sample in found} == {0.6}


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="only Linux tells how busy each core is")
@pytest.mark.parametrize("said", ["exit 9", "echo '[N/A]'", "true"])
def test_without_a_readable_gpu_only_cores_are_recorded(driver_says, tmp_path, said):
    driver_says(said)
    assert {sample.gpus for sample in samples_of(tmp_path)} == {None}


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="only Linux tells how busy each core is")
def test_a_sweep_that_is_resumed_adds_to_its_samples(driver_says, tmp_path):
    driver_says("exit 9")
    first = samples_of(tmp_path)
    assert samples_of(tmp_path)[: len(first)] == first
    assert (tmp_path / FILE).read_text().count("time") == 1


def test_a_truncated_row_is_left_out(tmp_path):
    """A disk that was full in the middle of a row leaves it without its end, and the next sample goes on there."""
    (tmp_path / FILE).write_text("time,cores,gpus\n1.0,0.500,\n1700.17005.0,0.300,\n3.0,0.500,\n2.0,0.7")
    assert read_utilisation(tmp_path) == [Sample(1.0, 0.5, None), Sample(3.0, 0.5, None)]
    assert read_utilisation(tmp_path / "none") == []


def test_the_picture_has_a_bar_for_each_part_of_the_time():
    hour = [Sample(30.0 * i, 1.0 if i < 60 else 0.0, 0.5) for i in range(120)]
    cores, gpus = sentences(hour)
    assert cores == f"cores {'█' * 30}{'▁' * 30} 50% busy in the mean of 60 min"
    assert gpus == f"GPUs  {'▅' * 60} 50% busy in the mean of 60 min"
    assert sentences([]) == []
    assert len(sentences([Sample(0.0, 0.2, None)])) == 1
