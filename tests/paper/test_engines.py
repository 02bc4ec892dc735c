"""The engine that a sweep's runs have."""

import pytest

from ascpo.paper.engines import Choice, choose_engine
from ascpo.paper.experiments import EXPERIMENTS, Training
from ascpo.paper.pages import page_of
from ascpo.paper.plan import Wish, plans
from ascpo.runs.plain import BadSetting
from tests.paper.helpers import TRPO, shelf_in, write_run

Q1 = EXPERIMENTS["q1"]
FREE, PILLARS = "Point-1-Hazard", "Point-8-Pillar"


def plan_of(tmp_path, engine, *suites):
    return plans(Wish("q1", shelf_in(tmp_path), suites, ["trpo"], [0], engine=engine))[0]


class TestWithMjx:
    """On this machine JAX's implementation is the one that suits, wherever it can."""

    @pytest.fixture(autouse=True)
    def mjx(self, monkeypatch):
        pytest.importorskip("mujoco.mjx")
        monkeypatch.setattr("ascpo.engines.mjx.physics.best_implementation", lambda task: "jax")

    def test_a_suite_that_it_cannot_move_has_the_native_engine_and_it_is_said(self, tmp_path):
        plan = plan_of(tmp_path, "mjx", FREE, PILLARS)
        assert [order.config.engine for order in plan.orders] == ["mjx-jax", "native"]
        (remark,) = plan.remarks
        assert remark.startswith(f"{PILLARS} has the native engine. MJX's implementation in jax cannot simulate")

    def test_an_implementation_by_its_name_is_refused_where_it_cannot_and_the_others_go_on(self, tmp_path):
        plan = plan_of(tmp_path, "mjx-jax", FREE, PILLARS)
        assert [order.config.engine for order in plan.orders] == ["mjx-jax"]
        (trouble,) = plan.troubles
        assert trouble.startswith(f"{PILLARS}-trpo-seed0: MJX's implementation in jax cannot simulate {PILLARS}")


def test_where_mjx_is_not_installed_asking_for_it_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for engine in ("mjx", "mjx-jax"):
        with pytest.raises(BadSetting, match="MJX is not installed"):
            plan_of(tmp_path, engine, FREE)


def test_the_native_engine_asks_nobody(monkeypatch):
    monkeypatch.setattr("ascpo.runs.environment.engine_name", None)
    assert choose_engine("native", PILLARS) == Choice("native")


def test_a_page_says_which_engines_its_runs_had(tmp_path):
    shelf = shelf_in(tmp_path)
    write_run(shelf, Q1, Training(PILLARS, TRPO, 0))
    run, config = shelf.run(Q1, Training(FREE, TRPO, 0)), Training(FREE, TRPO, 0).config(0.01, {}, "mjx-jax")
    run.path.mkdir()
    run.config_file.write_text(config.to_json())
    notes = page_of(Q1, shelf, command="ascpo paper run q1").notes
    assert f"Engines: mjx-jax: {FREE}; native: {PILLARS}." in notes
    assert any(note.endswith("ascpo paper run q1 --engine mjx") for note in notes)
