"""Where runs lie, and which of them count."""

import json

import pytest

from ascpo.paper.experiments import EXPERIMENTS, Training
from ascpo.runs.plain import BadSetting
from ascpo.sweep.store import Shelf, is_trained, unusual
from tests.paper.helpers import ASCPO, TRPO, shelf_in, write_run

Q1, BOXES, RESOURCES = (EXPERIMENTS[name] for name in ("q1", "boxes", "resources"))
POINT = Training("Point-8-Hazard", TRPO, 0)


@pytest.fixture
def shelf(tmp_path):
    return shelf_in(tmp_path)


def save_policy(run, epochs):
    import numpy as np
    from safetensors.numpy import save_file

    save_file({"theta": np.zeros(1)}, run.policy, {"ascpo": json.dumps({"epochs": epochs})})


def test_runs_of_different_lengths_and_measured_ones_are_apart(tmp_path):
    paths = [Shelf(tmp_path, scale).run(e, POINT).path for scale in (1, 0.1) for e in (Q1, BOXES, RESOURCES)]
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
def test_a_scale_must_leave_something(tmp_path, scale):
    with pytest.raises(BadSetting, match="part of the paper's steps"):
        Shelf(tmp_path, scale)


def test_a_run_is_trained_when_its_last_policy_is_saved(shelf):
    run, config = write_run(shelf, Q1, POINT), POINT.config(shelf.scale)
    assert is_trained(run, config)  # its tables alone were kept
    run.checkpoints.mkdir()
    assert not is_trained(run, config)  # killed after the last row, before the last checkpoint
    save_policy(run, 1)
    assert not is_trained(run, config)
    save_policy(run, config.epochs)
    assert is_trained(run, config)
    assert not is_trained(run, Training("Point-8-Hazard", TRPO, 0).config(1.0))


def test_a_last_row_that_was_not_written_to_its_end_does_not_count(shelf):
    run, config = write_run(shelf, Q1, POINT), POINT.config(shelf.scale)
    run.metrics.write_text(run.metrics.read_text().removesuffix("\n"))
    assert not is_trained(run, config)


def test_all_seeds_that_there_are_count_and_no_other_variants(shelf):
    for seed in (0, 11):
        write_run(shelf, Q1, Training("Point-8-Hazard", ASCPO, seed))
    write_run(shelf, EXPERIMENTS["monotone"], EXPERIMENTS["monotone"].trainings(seeds=[3])[0])
    write_run(shelf, Q1, Training("Point-8-Hazard", ASCPO, 12), epochs=1)
    assert shelf.seeds(Q1, "Point-8-Hazard", ASCPO) == [0, 11, 12]
    names = [run.path.name for run in shelf.finished(Q1, "Point-8-Hazard", ASCPO)]
    assert names == ["Point-8-Hazard-ascpo-seed0", "Point-8-Hazard-ascpo-seed11"]


def test_a_figure_of_episodes_has_a_run_when_they_were_played(shelf):
    run = write_run(shelf, BOXES, POINT)
    assert shelf.has(Q1, POINT)
    assert not shelf.has(BOXES, POINT)
    (run.path / "episodes-sampled.csv").write_text("EpCost\n0\n")
    assert shelf.has(BOXES, POINT)


def test_settings_that_are_not_the_usual_ones_are_found_out(shelf):
    ascpo = Training("Point-8-Hazard", ASCPO, 0)
    write_run(shelf, Q1, POINT, horizon=500)
    write_run(shelf, Q1, ascpo, horizon=500, mode="paper")
    assert unusual(shelf, Q1, [POINT, ascpo]) == {"horizon": (1000, 500), "ascpo.mode": ("chance", "paper")}
