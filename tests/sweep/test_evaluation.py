"""What is played after a training, and when it has been."""

import json

import numpy as np
import pytest

from ascpo.paper.experiments import EXPERIMENTS, Training
from ascpo.sweep import evaluation as playing
from ascpo.sweep.evaluation import EACH, STARTS, costs_by_start, episode_costs, is_played, wanted
from tests.paper.helpers import TRPO, shelf_in, write_run


@pytest.fixture
def run(tmp_path):
    """Its episodes had a hundred steps."""
    return write_run(shelf_in(tmp_path), EXPERIMENTS["boxes"], Training("Point-8-Hazard", TRPO, 0))


def evaluate(run, costs, policy="p"):
    (run.path / "episodes-sampled.csv").write_text("Seed,EpCost\n" + "".join(f"{i},{c}\n" for i, c in enumerate(costs)))
    about = {"policy": policy, "sampled": {"Episodes": len(costs)}}
    (run.path / "evaluation.json").write_text(json.dumps(about))


def test_thirty_thousand_steps_are_as_many_episodes_as_they_hold(run):
    assert wanted(run, "fresh") == 300
    assert wanted(run, "fresh", episodes=7) == 7
    assert wanted(run, "starts") == STARTS * EACH == 250
    assert wanted(run, "nothing") == 0


def test_enough_episodes_of_the_last_policy_must_have_been_played(run, monkeypatch):
    monkeypatch.setattr(playing, "_digest", lambda run: "p")
    run.policy.write_bytes(b"")
    assert is_played(run, "nothing")
    assert not is_played(run, "fresh")
    evaluate(run, [0.0] * 300)
    assert is_played(run, "fresh")
    evaluate(run, [0.0] * 299)
    assert not is_played(run, "fresh")
    assert is_played(run, "fresh", episodes=299)
    evaluate(run, [0.0] * 300, policy="an earlier one")
    assert not is_played(run, "fresh")


def test_costs_of_several_constraints_are_added_up(run):
    assert episode_costs(run) is None
    (run.path / "episodes-sampled.csv").write_text("EpCost_hazard,EpMaxCost_hazard,EpCost_pillar\n1,0.5,2\n3,0.5,0\n")
    assert episode_costs(run).tolist() == [3.0, 3.0]


def test_starts_keep_their_costs_apart(run):
    assert costs_by_start(run) is None
    (run.path / "starts.json").write_text(json.dumps({"policy": "p", "costs": {"0": [0.0, 1.0], "1": [2.0]}}))
    assert {start: costs.tolist() for start, costs in costs_by_start(run).items()} == {0: [0.0, 1.0], 1: [2.0]}
    assert is_played(run, "starts", episodes=3)
    assert not is_played(run, "starts")


def test_every_start_is_begun_as_often_as_the_others():
    seeds, episodes = np.array(playing.starts(12)).T
    assert (seeds - seeds[0]).tolist() == [0, 1, 2, 3, 4] * 2 + [0, 1]
    assert not episodes.any()
