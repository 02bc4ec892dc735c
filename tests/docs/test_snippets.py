"""The Python code of every page runs in its order, with trainings of two epochs and few episodes."""

import functools

import pytest

import ascpo
from ascpo.environments.render import COLOURS
from ascpo.guard.kinds import KINDS
from ascpo.guard.robots import ROBOTS
from tests.docs.test_docs import ROOT, blocks
from tests.runs.helpers import EPOCH, tiny
from tests.slow import slow


def shortened(function, **fixed):
    """The function with these arguments, whatever the page gives."""

    @functools.wraps(function)
    def call(*arguments, **given):
        return function(*arguments, **(given | fixed))

    return call


@slow("trains")
@pytest.mark.parametrize("page", ["python-api.md", "add-a-callback.md"])
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    small = tiny("ascpo") | {"total_steps": 2 * EPOCH, "progress": False}
    for name in ("train", "train_many"):
        monkeypatch.setattr(ascpo, name, shortened(getattr(ascpo, name), **small), raising=False)
    monkeypatch.setattr(ascpo, "resume", shortened(ascpo.resume, total_steps=3 * EPOCH, progress=False), raising=False)
    monkeypatch.setattr(ascpo, "evaluate", shortened(ascpo.evaluate, episodes=4), raising=False)
    monkeypatch.setattr(ascpo, "certify", shortened(ascpo.certify, episodes=12, probability=0.5), raising=False)
    names = {"__name__": "__main__"}
    for block in blocks(ROOT / "docs" / page, "python"):
        exec(compile(block, page, "exec"), names)
    if page == "python-api.md":
        assert names["result"].epochs == 2
        assert names["page"].exists()
        assert set(names["comparison"].table["group"]) == {"ascpo", "cpo"}
        assert "ascpo cpo EpRet" in capsys.readouterr().out
    else:
        assert (tmp_path / "runs" / "watched" / "policy-best.safetensors").exists()
        assert "The training has ended." in capsys.readouterr().out


def executed(page, monkeypatch, tmp_path):
    """The names that the Python code of a page defines. Its training has two epochs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        ascpo, "train", shortened(ascpo.train, **tiny("ascpo"), total_steps=2 * EPOCH, progress=False), raising=False
    )
    names = {"__name__": "__main__"}
    for block in blocks(ROOT / "docs" / page, "python"):
        exec(compile(block, page, "exec"), names)
    return names


@slow("trains")
def test_the_robot_of_the_page_about_robots_trains(tmp_path, monkeypatch):
    monkeypatch.setitem(ROBOTS, "Puck", ROBOTS["Point"])  # So that it is gone after the test.
    assert executed("add-a-robot.md", monkeypatch, tmp_path)["result"].epochs == 2


@slow("trains")
def test_the_mud_of_the_page_about_constraints_has_a_cost_of_its_own(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(KINDS, "Mud", KINDS["Hazard"])
    monkeypatch.setitem(COLOURS, "mud", COLOURS["hazard"])
    metrics = executed("add-a-constraint.md", monkeypatch, tmp_path)["result"].metrics
    assert len(metrics["EpCost_mud"]) == 2
    assert capsys.readouterr().out.startswith("[")


@slow("compiles its own agent")
def test_the_engine_of_the_page_about_engines_trains_for_two_epochs(tmp_path, monkeypatch, capsys):
    executed("add-an-engine.md", monkeypatch, tmp_path)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["1", "2"]
