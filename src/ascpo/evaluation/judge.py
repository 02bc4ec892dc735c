"""Judge a run: its policy on episodes that no training has seen."""

import json
from pathlib import Path

from ascpo.evaluation.fresh import fresh_episodes
from ascpo.runs.directory import find, write_whole
from ascpo.runs.environment import open_engine, side_by_side
from ascpo.runs.plain import BadSetting
from ascpo.runs.policy import read_policy

_HELD_OUT = 1_000_000
"""Evaluation's seeds begin here, beyond those of trainings."""


def judge_run(run: Path, episodes: int, *, seed: int = 0, threads: int = 0) -> dict[str, dict[str, float]]:
    """Figures with sampled and with mean actions. They are kept in the run's directory as evaluation.json too."""
    if episodes < 1:
        raise BadSetting(f"episodes={episodes}: ask for at least one.")
    directory = find(run)
    policy = read_policy(directory.path)
    learner = policy.learner()
    actor, found = learner.actor(), {}
    engine = open_engine(policy.config.env, side_by_side(policy.config.env, episodes), threads=threads)
    for way, mean_action in (("sampled", False), ("mean", True)):
        fresh = fresh_episodes(
            engine,
            actor,
            policy.theta,
            _HELD_OUT + seed + policy.config.seed,
            episodes=episodes,
            mean_action=mean_action,
        )
        found[way] = fresh.summary(learner.limits)
    engine.close()
    write_whole(directory.path / "evaluation.json", json.dumps(found, indent=2) + "\n")
    return found
