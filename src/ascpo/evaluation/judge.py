"""Judge a run: its policy on episodes that no training has seen.

evaluation.json       figures, with intervals
episodes-*.csv        a row an episode
worst-*.safetensors   the worst episodes, to be played again

The star is `sampled` or `mean`: whether the policy's actions were drawn, or the mean ones taken.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from ascpo.engines.rollout import Repeatable
from ascpo.evaluation.episodes import Played, play
from ascpo.evaluation.metrics import Figures, measure, table
from ascpo.evaluation.records import Record, write_records
from ascpo.runs.directory import RunDirectory, find, write_whole
from ascpo.runs.environment import Environment, open_engine, side_by_side
from ascpo.runs.plain import BadSetting
from ascpo.runs.policy import PolicyFile, read_policy
from ascpo.runs.tables import Table

Actions = Literal["sampled", "mean", "both"]
_FIRST_SEED = 2**30
"""Evaluation's seeds begin here, beyond all that trainings may have."""
_STRIDE = 1024
"""From one seed to the next: more than there are environments, so that they share no episode."""
_SEEDS = 2**30 // _STRIDE


def judge_run(
    run: Path,
    episodes: int,
    *,
    env: Environment | None = None,
    seed: int = 0,
    threads: int = 0,
    actions: Actions = "sampled",
    keep: int = 10,
    watch: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Figures by the way of acting. They are kept in the run's directory, with the worst episodes."""
    if episodes < 1 or keep < 0:
        raise BadSetting(f"episodes={episodes}, keep={keep}: ask for at least one episode, and keep some or none.")
    if not 0 <= seed < _SEEDS:
        raise BadSetting(f"seed={seed} must lie between 0 and {_SEEDS - 1}.")
    directory = find(run)
    policy = read_policy(directory.path)
    limits = policy.config.settings.limits_for(policy.cost_names)
    found: dict[str, Any] = {"policy": policy.digest, "cost_names": policy.cost_names, "limits": limits, "seed": seed}
    engine = open_engine(env or policy.config.env, side_by_side(policy.config.env, episodes), threads=threads)
    learner = policy.learner()
    for way in ("sampled", "mean") if actions == "both" else (actions,):
        played = play(
            engine,
            learner.actor(),
            policy.theta,
            _FIRST_SEED + seed * _STRIDE,
            episodes=episodes,
            limits=limits,
            mean_action=way == "mean",
            keep=keep,
            watch=watch,
        )
        found[way] = _write(directory, engine, policy, played, way)
    engine.close()
    write_whole(directory.path / "evaluation.json", json.dumps(found, indent=2) + "\n")
    return found


def records_of(
    played: Played, engine: Repeatable, env: str, limits: tuple[float, ...], *, mean_action: bool
) -> list[Record]:
    """The episodes that were kept, the worst first."""
    episodes, out = played.episodes, []
    for kept in played.worst:
        seed, episode = engine.origin(int(episodes.env[kept.row]), int(episodes.number[kept.row]))
        out.append(
            Record(
                env=env,
                cost_names=engine.cost_names,
                limits=limits,
                seed=seed,
                episode=episode,
                actions=kept.actions,
                reward=float(episodes.reward[kept.row]),
                maximum=tuple(episodes.maximum[kept.row].tolist()),
                first_violation=tuple(episodes.first_violation[kept.row].tolist()),
                mean_action=mean_action,
            )
        )
    return out


def _write(directory: RunDirectory, engine: Repeatable, policy: PolicyFile, played: Played, way: str) -> Figures:
    """The episodes' files; their figures."""
    episodes, names = played.episodes, policy.cost_names
    limits = policy.config.settings.limits_for(names)
    origins = [engine.origin(int(e), int(n)) for e, n in zip(episodes.env, episodes.number, strict=True)]
    rows = Table(directory.path / f"episodes-{way}.csv")
    for row in table(episodes, names, origins):
        rows.write(row)
    rows.close()
    records = records_of(played, engine, policy.config.env, limits, mean_action=way == "mean")
    write_records(directory.path / f"worst-{way}.safetensors", records)
    return measure(episodes, names)
