"""Which episodes are played after a training, and when there are enough of them."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from ascpo.seeding import Purpose, seed_of
from ascpo.sweep.evaluation import FixedStarts, HeldOutEpisodes, costs_by_start, episode_costs, is_evaluated
from tests.sweep.helpers import job, write_run

FRESH, STARTS = HeldOutEpisodes(steps=30_000), FixedStarts(starts=5, episodes=250)


@pytest.fixture
def run(tmp_path):
    """Its episodes had a hundred steps."""
    return write_run(job(tmp_path))


def write_evaluation(run, costs, policy="p"):
    (run.path / "episodes-sampled.csv").write_text("Seed,EpCost\n" + "".join(f"{i},{c}\n" for i, c in enumerate(costs)))
    about = {"policy": policy, "sampled": {"Episodes": len(costs)}}
    (run.path / "evaluation.json").write_text(json.dumps(about))


def test_the_number_of_episodes_follows_from_the_steps(run):
    assert FRESH.count(run) == 300
    assert HeldOutEpisodes(steps=30_000, episodes=7).count(run) == 7


def test_enough_episodes_of_the_last_policy_must_have_been_played(run, monkeypatch):
    monkeypatch.setattr("ascpo.runs.trained_policy.read_policy", lambda path: SimpleNamespace(digest="p"))
    run.policy.write_bytes(b"")
    assert is_evaluated(run, None)
    assert not is_evaluated(run, FRESH)
    write_evaluation(run, [0.0] * 300)
    assert is_evaluated(run, FRESH)
    write_evaluation(run, [0.0] * 299)
    assert not is_evaluated(run, FRESH)
    assert is_evaluated(run, HeldOutEpisodes(steps=30_000, episodes=299))
    write_evaluation(run, [0.0] * 300, policy="an earlier one")
    assert not is_evaluated(run, FRESH)


def test_damaged_files_count_as_episodes_that_were_not_played(run):
    """One damaged run must not stop the others of its sweep."""
    (run.path / "starts.json").write_text('{"scenes": ')
    assert not is_evaluated(run, STARTS)
    write_evaluation(run, [0.0] * 300)
    assert is_evaluated(run, FRESH)
    run.metrics.write_text("Epoch,EpLen\n0,100\n1\n")
    assert not is_evaluated(run, FRESH)
    run.policy.write_text("not a policy")
    assert not is_evaluated(run, HeldOutEpisodes(steps=0, episodes=300))


def test_the_costs_of_several_constraints_are_added(run):
    assert episode_costs(run) is None
    (run.path / "episodes-sampled.csv").write_text("EpCost_hazard,EpMaxCost_hazard,EpCost_pillar\n1,0.5,2\n3,0.5,0\n")
    assert episode_costs(run).tolist() == [3.0, 3.0]


def test_each_start_keeps_its_own_costs(run):
    assert costs_by_start(run) is None
    content = {"policy": "p", "costs": {"0": [0.0, 1.0], "1": [2.0]}}
    (run.path / "starts.json").write_text(json.dumps(content))
    assert not is_evaluated(run, FixedStarts(starts=2, episodes=3)), "they began in other scenes"
    (run.path / "starts.json").write_text(json.dumps(content | {"scenes": "an obstacle is in the way"}))
    assert {start: costs.tolist() for start, costs in costs_by_start(run).items()} == {0: [0.0, 1.0], 1: [2.0]}
    assert is_evaluated(run, FixedStarts(starts=2, episodes=3))
    assert not is_evaluated(run, STARTS)


def test_episodes_begin_at_the_starts_in_turn():
    seeds, episodes = np.array(FixedStarts(starts=5, episodes=12).origins()).T
    assert set(seeds) == {seed_of(Purpose.FIXED_STARTS, 0)}
    assert episodes.tolist() == [0, 1, 2, 3, 4] * 2 + [0, 1]
