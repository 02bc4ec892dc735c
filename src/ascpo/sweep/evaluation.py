"""What is played with a policy after its training, and where the episodes are kept.

Fresh: as many episodes as 30 000 steps hold, for box plots (`episodes-sampled.csv`). Their number is fixed before the
first step, from the length of episodes at the end of training: cutting off after 30 000 steps would drop long ones.
Starts: fifty episodes from each of five starts, for the histogram (`starts.json`). A start is a scene; only the drawn
actions differ.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from ascpo.engines.rollout import Origin
from ascpo.paper.experiments import Play
from ascpo.runs.directory import RunDirectory, write_whole
from ascpo.runs.tables import read_table

STEPS = 30_000
STARTS, EACH = 5, 50
_FIRST_START = 2**31
"""The first start's seed, beyond those of trainings and evaluations."""


def wanted(run: RunDirectory, play: Play, episodes: int = 0) -> int:
    """How many episodes: those asked for, or as many as the figure needs."""
    if play == "nothing":
        return 0
    if episodes or play == "starts":
        return episodes or STARTS * EACH
    length = float(np.mean(read_table(run.metrics)["EpLen"][-10:]))
    return max(1, math.ceil(STEPS / max(length, 1.0)))


def is_played(run: RunDirectory, play: Play, episodes: int = 0) -> bool:
    """Whether enough episodes are kept, and all of the last policy."""
    if play == "nothing":
        return True
    if play == "fresh":
        about = _read(run.path / "evaluation.json")
        kept = about.get("sampled", {}).get("Episodes", 0) if _fresh(run).exists() else 0
    else:
        about = _read(_starts(run))
        kept = sum(map(len, about.get("costs", {}).values()))
    return kept >= wanted(run, play, episodes) and (not run.policy.exists() or about.get("policy") == _digest(run))


def has_played(run: RunDirectory, play: Play) -> bool:
    """Whether there are any episodes of the kind."""
    return play == "nothing" or (_fresh(run) if play == "fresh" else _starts(run)).exists()


def play_episodes(run: RunDirectory, play: Play, episodes: int = 0, *, threads: int = 0) -> None:
    """Play them, and keep them in the run's directory."""
    if play == "fresh":
        from ascpo.evaluation.judge import judge_run

        judge_run(run.path, wanted(run, play, episodes), threads=threads)
    elif play == "starts":
        _play_from_starts(run, wanted(run, play, episodes), threads)


def episode_costs(run: RunDirectory) -> np.ndarray | None:
    """Of every fresh episode, all constraints together; None if none were played."""
    if not _fresh(run).exists():
        return None
    columns = read_table(_fresh(run))
    return np.sum([column for name, column in columns.items() if name.split("_")[0] == "EpCost"], axis=0)


def costs_by_start(run: RunDirectory) -> dict[int, np.ndarray] | None:
    """The costs of the episodes from each start; None if none were played."""
    found = _read(_starts(run)).get("costs")
    return {int(start): np.array(costs, float) for start, costs in found.items()} if found else None


def starts(episodes: int) -> list[Origin]:
    """A few scenes, in turns."""
    return [(_FIRST_START + i % STARTS, 0) for i in range(episodes)]


def _fresh(run: RunDirectory) -> Path:
    return run.path / "episodes-sampled.csv"


def _starts(run: RunDirectory) -> Path:
    return run.path / "starts.json"


def _read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text()) if file.exists() else {}


def _digest(run: RunDirectory) -> str:
    from ascpo.runs.policy import read_policy

    return read_policy(run.path).digest


def _play_from_starts(run: RunDirectory, episodes: int, threads: int) -> None:
    from ascpo.evaluation.episodes import play
    from ascpo.runs.environment import open_engine
    from ascpo.runs.policy import read_policy

    policy = read_policy(run.path)
    learner = policy.learner()
    engine = open_engine(policy.config.env, episodes, threads=threads)
    played = play(engine, learner.actor(), policy.theta, starts(episodes), limits=learner.limits).episodes
    engine.close()
    costs = played.cost.sum(axis=1)
    by_start = {str(start): [round(float(c), 6) for c in costs[start::STARTS]] for start in range(STARTS)}
    write_whole(_starts(run), json.dumps({"policy": policy.digest, "costs": by_start}) + "\n")
