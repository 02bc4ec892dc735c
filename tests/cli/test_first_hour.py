"""`ascpo new-env` and `ascpo doctor`."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ascpo.cli import doctor
from ascpo.cli.main import COMMANDS
from tests.slow import slow


def test_a_new_environment_passes_its_own_test_and_the_check(ascpo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "ascpo check puddle:make" in ascpo("new-env", "puddle")
    assert "puddle:make can be trained on" in ascpo("check", "puddle:make")
    typed = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_puddle.py"]
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    subprocess.run(typed, check=True, capture_output=True, env=os.environ | {"PYTHONPATH": path})
    assert "class Puddle(" in (tmp_path / "puddle.py").read_text()


def test_commands_about_a_new_environment_in_another_directory_go_there_first(ascpo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = ascpo("new-env", "puddle", "--out", "my envs")
    assert "Its test: python -m pytest 'my envs/test_puddle.py'" in said
    assert "Check it: cd 'my envs' && ascpo check puddle:make" in said
    assert "Train: cd 'my envs' && ascpo train --env puddle:make" in said
    assert "cd " not in ascpo("new-env", "pond", "--out", tmp_path)


@pytest.mark.parametrize("name", ["my-env", "class", "1st", "ünlü"])
def test_a_name_that_is_not_a_module_is_refused(ascpo, name):
    with pytest.raises(SystemExit):
        ascpo("new-env", name)


def test_files_that_exist_are_left_alone(ascpo, tmp_path, capsys):
    (tmp_path / "test_mine.py").write_text("mine")
    with pytest.raises(SystemExit):
        ascpo("new-env", "mine", "--out", tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["test_mine.py"]


def test_the_doctor_continues_after_a_failed_check_and_names_it(monkeypatch, capsys):
    def broken():
        raise doctor.Trouble("turn it on")

    monkeypatch.setattr(doctor, "_devices", broken)
    monkeypatch.setattr(doctor, "_pictures", lambda: "drawn")
    with pytest.raises(SystemExit) as end:
        doctor.main(["--no-train"])
    out = capsys.readouterr().out
    assert end.value.code == 1
    assert "CARE  devices   turn it on" in out
    assert "ok    disk" in out
    assert "Needs care: devices." in out


@slow("trains")
def test_the_doctor_runs_a_short_training():
    assert doctor._training().startswith("2 epochs")


def test_the_doctor_knows_every_extra_with_packages_of_its_own():
    extras = tomllib.loads((Path(doctor.__file__).parents[3] / "pyproject.toml").read_text())["project"]
    extras = extras["optional-dependencies"].keys() - {"gpu", "warp", "docs", "dev"}
    assert set(doctor._EXTRAS.values()) == extras


def test_the_help_of_every_command_says_what_comes_next():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.md").read_text()
    sections = dict(part.split("\n", 1) for part in page.split("\n## ascpo ")[1:])
    assert set(sections) == set(COMMANDS)
    assert [name for name, text in sections.items() if "Next: " not in text] == []
