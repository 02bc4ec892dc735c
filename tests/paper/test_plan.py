"""From what a person wants to what is done, and how it ends."""

import pytest

from ascpo.cli import paper
from ascpo.paper.plan import Wish, plans
from ascpo.runs.plain import BadSetting
from ascpo.runs.stopping import Stopped
from tests.paper.helpers import shelf_in


class Trainer:
    """Stands for this process: trains nothing, and fails where it is told to."""

    trained: "list[str]" = []  # noqa: RUF012
    trouble: "dict[str, BaseException]" = {}  # noqa: RUF012

    def __init__(self, threads=0, progress=False):
        pass

    def __call__(self, order):
        algo = order.config.algo
        if algo in Trainer.trouble:
            raise Trainer.trouble[algo]
        Trainer.trained.append(order.words)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ascpo.paper.plan.Here", Trainer)
    monkeypatch.setattr("sys.argv", ["ascpo", "paper", "run", "q1"])
    Trainer.trained, Trainer.trouble = [], {}

    def run(*words):
        """What was printed, and how it ended."""
        code = 0
        try:
            paper.main(["run", "q1", "--suites", "Point-1-Hazard", *words, "--seeds", "0", "--out", str(tmp_path)])
        except SystemExit as end:
            code = end.code
        return capsys.readouterr().out, code

    return run


def test_a_sweep_that_goes_well_ends_with_where_to_look(run, tmp_path):
    out, code = run("--algos", "trpo", "cpo", "--scale", "0.1")
    assert (code, Trainer.trained) == (0, ["Point-1-Hazard-trpo-seed0", "Point-1-Hazard-cpo-seed0"])
    assert "2 trained, 0 were there already, 0 failed." in out
    assert f"ascpo paper show q1 --scale 0.1 --out {tmp_path}" in out


def test_a_training_that_diverges_leaves_the_others_alone_and_shows_in_the_exit_code(run):
    Trainer.trouble = {"trpo": RuntimeError("Epoch 7 made numbers that are not finite.")}
    out, code = run("--algos", "trpo", "cpo")
    assert (code, Trainer.trained) == (1, ["Point-1-Hazard-cpo-seed0"])
    assert "1 trained, 0 were there already, 1 failed." in out
    assert "Point-1-Hazard-trpo-seed0: Epoch 7 made numbers that are not finite." in out


def test_a_setting_that_one_algorithm_does_not_have_is_its_own_trouble(run):
    out, code = run("--algos", "trpo", "ascpo", "--set", "k=3")
    assert (code, Trainer.trained) == (1, ["Point-1-Hazard-ascpo-seed0"])
    assert "Point-1-Hazard-trpo-seed0: trpo has no setting 'k'. ascpo and pascpo have it." in out
    assert run("--algos", "trpo", "ascpo", "--set", "ascpo.k=3")[1] == 0


def test_a_stop_says_how_to_go_on(run):
    Trainer.trouble = {"cpo": Stopped(15)}
    out, code = run("--algos", "trpo", "cpo", "scpo")
    assert (code, Trainer.trained) == (143, ["Point-1-Hazard-trpo-seed0"])
    assert "Stopped by SIGTERM" in out
    assert "ascpo paper run q1" in out


def test_all_leaves_out_what_does_not_have_the_suite(tmp_path):
    found = plans(Wish("all", shelf_in(tmp_path), suites=["Ant-8-Hazard"]))
    assert [plan.experiment.name for plan in found] == ["q1", "scores", "boxes", "monotone", "pascpo"]


def test_runs_to_be_measured_go_to_a_place_of_their_own(tmp_path):
    (plan,) = plans(Wish("resources", shelf_in(tmp_path)))
    assert {order.directory.parent.name for order in plan.orders} == {"alone"}


def test_what_nobody_has_is_refused_before_anything_is_done(tmp_path):
    with pytest.raises(BadSetting, match="Did you mean horizon"):
        plans(Wish("q1", shelf_in(tmp_path), changes={"horizn": 3}))
