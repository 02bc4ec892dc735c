"""Evaluation and certification of policies from other libraries.

The directory FILE.ENVIRONMENT keeps the results of FILE on an environment: the list of looks, the last certificate, and
an evaluation. For a function, it is created in the current directory. After the file or function was replaced, another
certificate is another look.
"""

import hashlib
import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ascpo.choices import EvaluatedActions
from ascpo.engines.contract import EpisodePlayer
from ascpo.evaluation.binding import RunBinding, look_of
from ascpo.evaluation.certificate import Certificate, certificate_of
from ascpo.evaluation.certify import Comparison, Request, compare, world_of
from ascpo.evaluation.evaluate import fresh_episodes, records_of
from ascpo.evaluation.evaluation_file import FILE as EVALUATION
from ascpo.evaluation.evaluation_file import episodes_file, evaluation_text, worst_file
from ascpo.evaluation.foreign_name import refuse_options
from ascpo.evaluation.foreign_policy import (
    ForeignPolicy,
    PolicyLike,
    actor_for,
    failures_of,
    policy_name,
    read_foreign,
    try_out,
)
from ascpo.evaluation.ledger import Ledger, locked, new_ledger, read_ledger, take_look, write_result
from ascpo.evaluation.looks import numbered, replace_certificate
from ascpo.evaluation.metrics import Figures, measure, table
from ascpo.evaluation.plan import CertificatePlan
from ascpo.evaluation.records import records_content
from ascpo.runs.environment import Environment, name_of, num_envs_for, open_engine
from ascpo.runs.episodes import Episodes, OnProgress, counted_from, no_progress, play
from ascpo.runs.files import write_together
from ascpo.runs.hosting import PLAIN, Hosting
from ascpo.runs.machine import machine_kind
from ascpo.runs.sealed import fingerprint_of
from ascpo.runs.serialization import BadSetting
from ascpo.runs.tables import table_text
from ascpo.seeding import LATEST, SCHEMES


@dataclass(frozen=True)
class Where:
    """The environments of a foreign policy."""

    env: Environment
    threads: int = 0
    max_episode_steps: int | None = None
    hosting: Hosting = PLAIN

    @cached_property
    def name(self) -> str:
        """The name of the environment."""
        return name_of(self.env)

    def opened(self, num_envs: int) -> EpisodePlayer:
        return open_engine(
            self.env,
            num_envs,
            threads=self.threads,
            max_episode_steps=self.max_episode_steps,
            hosting=self.hosting,
        )


def where_of(
    policy: PolicyLike,
    env: Environment | None,
    *,
    trust_env: bool = False,
    actions: EvaluatedActions | None = None,
    threads: int = 0,
    max_episode_steps: int | None = None,
    hosting: Hosting = PLAIN,
) -> Where:
    """The environments that the user names for a foreign policy. Its file does not name any."""
    refuse_options(policy_name(policy), env, trust_env=trust_env, actions=actions)
    assert env is not None  # Refused above.
    return Where(env, threads, max_episode_steps, hosting)


@dataclass(frozen=True)
class _Candidate:
    """A foreign policy that was tested in its environments."""

    policy: ForeignPolicy
    where: Where
    digest: str
    """A checksum of its file. For a function, of its actions in the test."""
    cost_names: tuple[str, ...]

    @property
    def directory(self) -> Path:
        """The directory of the results for this policy and environment."""
        place = self.policy.place
        return place.with_name(f"{place.name}.{re.sub(r'[^A-Za-z0-9+-]', '-', self.where.name)}")

    @property
    def fingerprint(self) -> str:
        """A fingerprint of the policy's name, which does not depend on its actions."""
        return fingerprint_of({"policy": self.policy.name, "env": self.where.name})

    def ledger(self) -> Ledger:
        run = self.fingerprint
        return read_ledger(self.directory, run) or new_ledger(self.directory, run, 0)


def _candidate(policy: ForeignPolicy, where: Where) -> _Candidate:
    """Test a policy, so that one that does not fit its environment is refused before a look is spent on it."""
    with closing(where.opened(1)) as engine:
        actions, cost_names = try_out(policy, engine), engine.cost_names
    return _Candidate(policy, where, policy.digest or hashlib.sha256(actions.tobytes()).hexdigest(), cost_names)


def certify_foreign(
    policies: Sequence[PolicyLike], where: Where, request: Request, on_progress: OnProgress = no_progress
) -> tuple[list[tuple[Path, Certificate]], list[Comparison]]:
    """Certify policies on the same scenes. Returns their directories, certificates and comparisons."""
    candidates = [_candidate(read_foreign(policy), where) for policy in policies]
    _refuse_the_same(candidates)
    found, certificates = list[Episodes](), list[tuple[Path, Certificate]]()
    plans = [_plan(candidate, request, [one.digest for one in candidates]) for candidate in candidates]
    for candidate, plan in zip(candidates, plans, strict=True):
        # If the plan is impossible for one policy, it is refused before any policy spends a look.
        numbered(plan, candidate.ledger())
    for candidate, first in zip(candidates, plans, strict=True):
        directory = candidate.directory
        directory.mkdir(parents=True, exist_ok=True)
        with locked(directory):
            ledger = candidate.ledger()
            plan = numbered(first, ledger)
            ledger = take_look(ledger, look_of(plan))
        entry = ledger.entry(plan.look)
        found.append(_episodes(candidate, plan, counted_from(on_progress, len(found) * plan.episodes)))
        chain = entry.chain if entry else ""
        machine = machine_kind()
        run = RunBinding(ledger.run, earlier=ledger.earlier, chain=chain, policy=candidate.policy.name, machine=machine)
        certificate = certificate_of(plan, found[-1], run)
        with locked(directory):
            write_result(candidate.ledger(), plan.look, certificate.counts)
            replace_certificate(directory, certificate)
        certificates.append((directory, certificate))
    names = [candidate.policy.name for candidate in candidates]
    return certificates, compare(names, found, [certificate.plan.error for _, certificate in certificates])


def evaluate_foreign(
    policy: PolicyLike,
    where: Where,
    episodes: int,
    *,
    seed: int = 0,
    keep: int = 10,
    on_progress: OnProgress = no_progress,
) -> tuple[Path, Figures]:
    """Evaluate a policy on held-out episodes, with limits of zero. Returns the directory and the figures."""
    origins = fresh_episodes(SCHEMES[LATEST], episodes, seed, keep)
    candidate = _candidate(read_foreign(policy), where)
    names = candidate.cost_names
    limits = (0.0,) * len(names)
    with closing(where.opened(num_envs_for(where.name, episodes))) as engine, failures_of(candidate.policy):
        actor = actor_for(candidate.policy, engine)
        played = play(
            engine, actor, np.zeros(1, np.float32), origins, limits=limits, keep=keep, on_progress=on_progress
        )
    figures = measure(played.episodes, names)
    about = {"policy": candidate.digest, "cost_names": list(names), "limits": list(limits), "seed": seed}
    records = records_of(played, origins, env=where.name, cost_names=names, limits=limits, mean_action=True)
    files = {
        worst_file("mean"): records_content(records, candidate.digest),
        episodes_file("mean"): table_text(table(played.episodes, names, origins)).encode(),
    }
    directory = candidate.directory
    directory.mkdir(parents=True, exist_ok=True)
    text = evaluation_text({**about, "mean": figures}, files, candidate.fingerprint)
    write_together({directory / name: one for name, one in {**files, EVALUATION: text.encode()}.items()})
    return directory, figures


def _refuse_the_same(candidates: Sequence[_Candidate]) -> None:
    if len({one.digest for one in candidates}) < len(candidates):
        raise BadSetting("The same policy is named twice. Name each one once.")
    if len({one.directory for one in candidates}) < len(candidates):
        names = ", ".join(one.policy.name for one in candidates)
        raise BadSetting(f"Looks are counted by name, and some of these are the same: {names}. Rename the functions.")


def _plan(candidate: _Candidate, request: Request, family: Sequence[str]) -> CertificatePlan:
    env, names = candidate.where.name, candidate.cost_names
    limits = request.limits or (0.0,)
    if len(limits) not in {1, len(names)}:
        raise BadSetting(f"{len(limits)} limits for {len(names)} constraints ({', '.join(names)}).")
    return CertificatePlan(
        env=env,
        world=world_of(env),
        policy=candidate.digest,
        family=tuple(sorted(family)),
        cost_names=names,
        limits=tuple(float(limit) + 0.0 for limit in (limits * len(names) if len(limits) == 1 else limits)),
        actions="mean",
        probability=request.probability,
        confidence=request.confidence,
        episodes=request.episodes,
        num_envs=num_envs_for(env, request.episodes),
        limits_on=request.limits_on or "state",
    )


def _episodes(candidate: _Candidate, plan: CertificatePlan, on_progress: OnProgress) -> Episodes:
    held = {"limits": plan.limits, "limits_on": plan.limits_on}
    with closing(candidate.where.opened(plan.num_envs)) as engine, failures_of(candidate.policy):
        actor = actor_for(candidate.policy, engine)
        return play(
            engine, actor, np.zeros(1, np.float32), plan.origins, **held, mean_action=True, on_progress=on_progress
        ).episodes
