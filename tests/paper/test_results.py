"""Where the runs of the paper are stored, and which of them count."""

import pytest

from ascpo.paper.experiments import EXPERIMENTS, Training
from ascpo.paper.pages import configs_of, overridden
from ascpo.paper.results import PaperStore
from ascpo.runs.serialization import BadSetting
from tests.paper.helpers import ASCPO, TRPO, store_in, write_run

Q1, BOXES, RESOURCES = (EXPERIMENTS[name] for name in ("q1", "boxes", "resources"))
POINT = Training("Point-8-Hazard", TRPO, 0)


@pytest.fixture
def store(tmp_path):
    return store_in(tmp_path)


def test_runs_of_different_lengths_and_isolated_runs_are_kept_apart(tmp_path):
    paths = [PaperStore(tmp_path, scale).run(e, POINT).path for scale in (1, 0.1) for e in (Q1, BOXES, RESOURCES)]
    named = "Point-8-Hazard-trpo-seed0"
    assert [str(path.relative_to(tmp_path)) for path in paths] == [
        f"scale-1/{named}",
        f"scale-1/{named}",
        f"scale-1/alone/{named}",
        f"scale-0.1/{named}",
        f"scale-0.1/{named}",
        f"scale-0.1/alone/{named}",
    ]


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan")])
def test_a_scale_is_positive(tmp_path, scale):
    with pytest.raises(BadSetting, match="must be a number above 0"):
        PaperStore(tmp_path, scale)


def test_an_experiment_with_episodes_has_a_run_when_they_were_played(store):
    run = write_run(store, BOXES, POINT)
    assert store.has(Q1, POINT)
    assert not store.has(BOXES, POINT)
    (run.path / "episodes-sampled.csv").write_text("EpCost\n0\n")
    assert store.has(BOXES, POINT)


def test_settings_that_differ_from_the_experiments_are_found(store):
    ascpo = Training("Point-8-Hazard", ASCPO, 0)
    write_run(store, Q1, POINT, horizon=500)
    write_run(store, Q1, ascpo, horizon=500, tau=0.1)
    configs = configs_of(store, Q1, [POINT, ascpo])
    assert overridden(configs, store.scale) == {
        "horizon": (1000, 500),
        "ascpo.tau": (0.05, 0.1),
    }
