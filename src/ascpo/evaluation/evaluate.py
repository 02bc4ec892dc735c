"""Evaluation of a run: its policy on held-out episodes.

evaluation.json       figures, with intervals
episodes-*.csv        a row per episode
worst-*.safetensors   the worst episodes, for `ascpo replay`

The star stands for `sampled` or `mean`, the kind of actions. The files appear together or not at all.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from ascpo.choices import EvaluatedActions, LimitKind
from ascpo.evaluation.evaluation_file import FILE, KINDS, episodes_file, evaluation_text, read_evaluation, worst_file
from ascpo.evaluation.metrics import Figures, measure, table
from ascpo.evaluation.records import Record, records_content
from ascpo.runs.callbacks.best import BEST
from ascpo.runs.directory import RunDirectory, find
from ascpo.runs.environment import Environment, num_envs_for, open_engine
from ascpo.runs.episodes import OnProgress, Played, no_progress, play
from ascpo.runs.files import BadFile, write_together
from ascpo.runs.hosting import PLAIN, Hosting
from ascpo.runs.machine import machine_kind
from ascpo.runs.sealed import fingerprint_of
from ascpo.runs.serialization import BadSetting
from ascpo.runs.tables import table_text
from ascpo.runs.trained_policy import read_policy
from ascpo.runs.trust import trusted
from ascpo.seeding import SCHEMES, EpisodeId, Scheme


def evaluate_run(
    run: Path,
    episodes: int,
    *,
    env: Environment | None = None,
    trust_env: bool = False,
    seed: int = 0,
    threads: int = 0,
    actions: EvaluatedActions = "sampled",
    keep: int = 10,
    hosting: Hosting = PLAIN,
    max_episode_steps: int | None = None,
    on_progress: OnProgress = no_progress,
) -> Figures:
    """Evaluate a run's policy. Returns figures for each kind of actions, which are also written to its directory.

    An environment outside this package is imported only if `env` names it, or with `trust_env`.
    """
    directory = find(run)
    _refuse_other_policies(run, directory)
    policy = read_policy(directory.path)
    opened = trusted(policy.config.env, env, trust_env=trust_env)
    origins = fresh_episodes(SCHEMES[policy.config.seeding], episodes, seed, keep)
    limits, limits_on = policy.config.settings.limits_for(policy.cost_names), policy.config.algorithm().limits_on
    about = {"policy": policy.digest, "cost_names": list(policy.cost_names), "limits": list(limits), "seed": seed}
    about |= {"limits_on": limits_on} if limits_on != "state" else {}
    cut = policy.config.max_episode_steps if max_episode_steps is None else max_episode_steps
    about |= {"max_episode_steps": cut} if cut is not None else {}
    found, files = _earlier(directory.path, about)
    content: dict[str, bytes] = {}
    actor, num_envs = policy.actor(), num_envs_for(policy.config.env, episodes)
    host = {"threads": threads, "hosting": hosting, "limits": limits, "max_episode_steps": cut}
    with closing(open_engine(opened, num_envs, **host)) as engine:
        for kind in ("sampled", "mean") if actions == "both" else (actions,):
            how = {"limits": limits, "limits_on": limits_on, "mean_action": kind == "mean"}
            played = play(engine, actor, policy.theta, origins, **how, keep=keep, on_progress=on_progress)
            records = records_of(played, origins, env=policy.config.env, cost_names=policy.cost_names, **how)
            content[worst_file(kind)] = records_content(records, policy.digest)
            rows = table(played.episodes, policy.cost_names, origins)
            content[episodes_file(kind)] = table_text(rows).encode()
            found[kind] = measure(played.episodes, policy.cost_names)
    everything = {**content, FILE: evaluation_text(found, {**files, **content}, fingerprint_of(policy.plain_config))}
    write_together({directory.path / name: one for name, one in everything.items()})
    return found


def _refuse_other_policies(run: Path, directory: RunDirectory) -> None:
    """Raise an error for a policy's file in the run's directory that is not the run's final policy."""
    if run.name == BEST:
        raise BadSetting(
            f"{run} is not the run's final policy, and only that one can be evaluated. To act with this "
            f"policy in Python: ascpo.load({str(run)!r})."
        )
    if run.name in (directory.policy_last.name, directory.policy_average.name):
        raise BadSetting(
            f"{run} is not the run's final policy, and only that one can be evaluated. Make it the final one first: "
            f"ascpo train --resume {directory.path} --final-policy {run.stem.removeprefix('policy-')}"
        )


def fresh_episodes(scheme: Scheme, episodes: int, seed: int, keep: int) -> list[EpisodeId]:
    """The episodes of an evaluation. No training has them."""
    most = scheme.evaluation_episodes
    if not 1 <= episodes <= most or keep < 0:
        raise BadSetting(f"episodes={episodes}, keep={keep}: use 1 to {most} episodes, and keep at least 0 of them.")
    if not 0 <= seed < scheme.evaluation_seeds:
        raise BadSetting(f"seed={seed} must lie between 0 and {scheme.evaluation_seeds - 1}.")
    return scheme.evaluation(seed, episodes)


def _earlier(directory: Path, about: Figures) -> tuple[Figures, dict[str, str]]:
    """Earlier figures of the same policy, and the checksums of their files.

    Sampled and mean actions may be evaluated in separate calls. Damaged files are dropped.
    """
    try:
        before = read_evaluation(directory)
        if {name: before.figures.get(name) for name in (*about, "max_episode_steps")} != {
            "max_episode_steps": None
        } | about:
            return dict(about), {}
        files = {kind: (episodes_file(kind), worst_file(kind)) for kind in KINDS if kind in before.figures}
        whole = {
            kind: names
            for kind, names in files.items()
            if before.verified and not any(before.trouble(directory, name) for name in names)
        }
    except BadFile:
        return dict(about), {}
    figures = about | {kind: before.figures[kind] for kind in whole}
    return figures, {name: before.files[name] for names in whole.values() for name in names}


def records_of(
    played: Played,
    origins: Sequence[EpisodeId],
    *,
    env: str,
    cost_names: tuple[str, ...],
    limits: tuple[float, ...],
    limits_on: LimitKind = "state",
    mean_action: bool,
) -> list[Record]:
    """Records of the kept episodes, the worst first."""
    episodes = played.episodes
    return [
        Record(
            env,
            cost_names,
            limits,
            *origins[kept.row],
            kept.actions,
            reward=float(episodes.reward[kept.row]),
            maximum=tuple(episodes.maximum[kept.row].tolist()),
            first_violation=tuple(episodes.first_violation[kept.row].tolist()),
            mean_action=mean_action,
            limits_on=limits_on,
            machine=machine_kind(),
        )
        for kept in played.worst
    ]
