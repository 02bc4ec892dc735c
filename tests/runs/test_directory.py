"""Allowed places of a run's directory."""

import pytest

from ascpo.runs.api import train
from ascpo.runs.directory import NoRun, RunDirectory, check_name, find
from ascpo.runs.serialization import BadSetting


@pytest.mark.parametrize("name", ["mine", "Point-1-Hazard+2-Pillar", "é 2.1", "..-..-etc-x", "-x", "..."])
def test_a_name_is_a_single_directory(name):
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", " ", ".", "..", "../x", "/abs", "a/b", "a\\b", "a\nb", "a\0b", "a\x1b[2Jb", 3])
def test_a_name_that_leaves_the_directory_or_has_line_breaks_is_refused(name, tmp_path):
    with pytest.raises(BadSetting, match="cannot be the name of a directory"):
        train("Point-1-Hazard", out=tmp_path / "out", name=name)
    assert not list(tmp_path.iterdir())


def test_a_long_name_is_refused():
    with pytest.raises(BadSetting, match="too long"):
        check_name("é" * 150)


def test_a_run_cannot_be_written_into_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    for place in ("file", "file/run", "file/deeper/run", "nowhere", "nowhere/run"):
        with pytest.raises(NoRun, match=r"(file|nowhere) is not a directory"):
            RunDirectory(tmp_path / place).check_free()
    RunDirectory(tmp_path / "new" / "run").check_free()


def test_a_path_that_no_system_accepts_is_refused_with_a_message(tmp_path):
    with pytest.raises(NoRun, match="cannot be used as a directory"):
        RunDirectory(tmp_path / ("x" * 1000) / "run").check_free()


def test_a_missing_run_is_searched_nearby_and_not_on_the_whole_disk(tmp_path):
    for place in ("near", "x/near", "x/y/far"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "config.json").touch()
    with pytest.raises(NoRun, match="near") as caught:
        find(tmp_path / "nothing")
    assert "far" not in str(caught.value)
