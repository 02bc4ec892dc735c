"""Evaluate and certify foreign policies, as those of runs are.

What is found out about FILE on an environment is kept in the directory FILE.ENVIRONMENT: the list of looks, the last
certificate, an evaluation. A file that was replaced by a better one is looked at again: that is another look.
"""

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ascpo.engines.contract import EpisodePlayer
from ascpo.evaluation.binding import RunBinding, look_of
from ascpo.evaluation.certificate import Certificate, certificate_of
from ascpo.evaluation.certify import Comparison, Request, compare, world_of
from ascpo.evaluation.evaluate import records_of
from ascpo.evaluation.foreign_policy import ForeignPolicy, actor_for, failures_of, read_foreign
from ascpo.evaluation.kept import FILE as EVALUATION
from ascpo.evaluation.kept import episodes_file, kept_text, worst_file
from ascpo.evaluation.ledger import Ledger, locked, new_ledger, read_ledger, take_look, write_result
from ascpo.evaluation.looks import replace_certificate
from ascpo.evaluation.metrics import Figures, measure, table
from ascpo.evaluation.plan import CertificatePlan
from ascpo.evaluation.records import records_content
from ascpo.runs.environment import name_of, open_engine, side_by_side
from ascpo.runs.episodes import Episodes, Report, play, say_nothing
from ascpo.runs.files import write_together
from ascpo.runs.sealed import fingerprint_of
from ascpo.runs.serialization import BadSetting
from ascpo.runs.tables import table_text
from ascpo.seeding import LATEST, SCHEMES


@dataclass(frozen=True)
class Where:
    """The environments that foreign policies are tried in."""

    env: str
    threads: int = 0
    max_episode_steps: int | None = None


def where_of(names: Sequence[str], env: str | None, *, threads: int = 0, max_episode_steps: int | None = None) -> Where:
    """The environments that a user names for policies from elsewhere, which name none themselves."""
    if env is None:
        raise BadSetting(f"{names[0]} does not say its environment. Name it: --env Point-8-Hazard")
    return Where(env, threads, max_episode_steps)


def directory_of(policy: ForeignPolicy, env: str) -> Path:
    """Where is kept what is found out about a policy on an environment."""
    return policy.place.with_name(f"{policy.place.name}.{re.sub(r'[^A-Za-z0-9+-]', '-', name_of(env))}")


def certify_foreign(
    names: Sequence[str], where: Where, request: Request, report: Report = say_nothing
) -> tuple[list[tuple[Path, Certificate]], list[Comparison]]:
    """Certify policies on the same scenes. Returns the directories and what they hold now."""
    policies = [read_foreign(name) for name in names]
    if len({policy.digest for policy in policies}) < len(policies):
        raise BadSetting("The same policy is named twice. Name each one once.")
    found, certificates = list[Episodes](), list[tuple[Path, Certificate]]()
    plans = [_plan(policy, where, request, [one.digest for one in policies]) for policy in policies]
    for policy, first in zip(policies, plans, strict=True):
        directory = directory_of(policy, where.env)
        directory.mkdir(parents=True, exist_ok=True)
        with locked(directory):
            ledger = _ledger(directory, policy, where)
            plan = replace(first, look=ledger.number_for(look_of(first)))
            ledger = take_look(ledger, look_of(plan))
        entry = ledger.entry(plan.look)
        before = len(found) * plan.episodes
        found.append(_episodes(policy, plan, where, lambda done, before=before: report(before + done)))
        run = RunBinding(ledger.run, earlier=ledger.earlier, chain=entry.chain if entry else "")
        certificate = certificate_of(plan, found[-1], run)
        with locked(directory):
            write_result(_ledger(directory, policy, where), plan.look, certificate.counts)
            replace_certificate(directory, certificate)
        certificates.append((directory, certificate))
    return certificates, compare(names, found, [certificate.plan.error for _, certificate in certificates])


def evaluate_foreign(
    name: str, where: Where, episodes: int, *, seed: int = 0, keep: int = 10, report: Report = say_nothing
) -> tuple[Path, Figures]:
    """Figures of a policy on fresh episodes, with limits of zero. Returns the directory that keeps them, too."""
    policy, scheme, env = read_foreign(name), SCHEMES[LATEST], name_of(where.env)
    if not 1 <= episodes <= scheme.evaluation_episodes or not 0 <= seed < scheme.evaluation_seeds:
        raise BadSetting(f"episodes={episodes}, seed={seed}: there are not so many episodes for evaluations.")
    origins, num_envs = scheme.evaluation(seed, episodes), side_by_side(where.env, episodes)
    with closing(_opened(where, num_envs)) as engine, failures_of(policy):
        names = engine.cost_names
        limits = (0.0,) * len(names)
        played = play(
            engine, actor_for(policy, engine), np.zeros(1, np.float32), origins, limits=limits, keep=keep, report=report
        )
    figures = measure(played.episodes, names)
    about = {"policy": policy.digest, "cost_names": list(names), "limits": list(limits), "seed": seed}
    records = records_of(played, origins, env=env, cost_names=names, limits=limits, mean_action=True)
    files = {
        worst_file("mean"): records_content(records, policy.digest),
        episodes_file("mean"): table_text(table(played.episodes, names, origins)).encode(),
    }
    directory = directory_of(policy, where.env)
    directory.mkdir(parents=True, exist_ok=True)
    text = kept_text({**about, "mean": figures}, files, _fingerprint(policy, where))
    write_together({directory / name: one for name, one in {**files, EVALUATION: text.encode()}.items()})
    return directory, figures


def _fingerprint(policy: ForeignPolicy, where: Where) -> str:
    """Of what is looked at: the file by its name, whatever it holds."""
    return fingerprint_of({"policy": policy.name, "env": name_of(where.env)})


def _ledger(directory: Path, policy: ForeignPolicy, where: Where) -> Ledger:
    run = _fingerprint(policy, where)
    return read_ledger(directory, run) or new_ledger(directory, run, 0)


def _opened(where: Where, num_envs: int) -> EpisodePlayer:
    return open_engine(where.env, num_envs, threads=where.threads, max_episode_steps=where.max_episode_steps)


def _plan(policy: ForeignPolicy, where: Where, request: Request, family: Sequence[str]) -> CertificatePlan:
    env = name_of(where.env)
    with closing(_opened(where, 1)) as engine:
        actor_for(policy, engine)  # Refused before a look is spent.
        names = engine.cost_names
    limits = request.limits or (0.0,)
    if len(limits) not in {1, len(names)}:
        raise BadSetting(f"{len(limits)} limits for {len(names)} constraints ({', '.join(names)}).")
    return CertificatePlan(
        env=env,
        world=world_of(env),
        policy=policy.digest,
        family=tuple(sorted(family)),
        cost_names=names,
        limits=tuple(float(limit) + 0.0 for limit in (limits * len(names) if len(limits) == 1 else limits)),
        actions="mean",
        probability=request.probability,
        confidence=request.confidence,
        episodes=request.episodes,
        num_envs=side_by_side(env, request.episodes),
        limits_on=request.limits_on or "state",
    )


def _episodes(policy: ForeignPolicy, plan: CertificatePlan, where: Where, report: Report) -> Episodes:
    held = {"limits": plan.limits, "limits_on": plan.limits_on}
    with closing(_opened(where, plan.num_envs)) as engine, failures_of(policy):
        actor = actor_for(policy, engine)
        return play(
            engine, actor, np.zeros(1, np.float32), plan.origins, **held, mean_action=True, report=report
        ).episodes
