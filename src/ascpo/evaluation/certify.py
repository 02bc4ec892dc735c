"""Certify policies, check a certificate from scratch, and compare policies on the same scenes."""

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from importlib import metadata
from itertools import combinations
from pathlib import Path

from ascpo.evaluation.certificate import BadCertificate, Certificate, certificate_of, read_certificate
from ascpo.evaluation.looks import FILE, confirm_run, record_look, refuse_look, refuse_other_plan, write_certificate
from ascpo.evaluation.plan import SEEDING, CertificatePlan, Format
from ascpo.evaluation.request import Request
from ascpo.guard.model import SUBSTEPS, mjcf
from ascpo.guard.suites import UnknownSuite, suite
from ascpo.runs.directory import find
from ascpo.runs.environment import Environment, is_suite, name_of, num_envs_for, open_engine
from ascpo.runs.episodes import Episodes, OnProgress, counted_from, no_progress, play
from ascpo.runs.machine import may_round_otherwise
from ascpo.runs.serialization import BadSetting
from ascpo.runs.trained_policy import PolicyFile, read_policy
from ascpo.runs.trust import trusted
from ascpo.seeding import Version
from ascpo.theory.cantelli import PAPER_K


@dataclass(frozen=True)
class Comparison:
    """A comparison of two policies on the same scenes."""

    first: str
    second: str
    only_first: int
    """Scenes in which only the first policy violated a limit."""
    only_second: int
    p_value: float
    """The p-value of McNemar's exact two-sided test of no difference."""
    level: float
    """The level of the test, corrected for the number of pairs. A smaller p-value shows a difference."""

    @property
    def safer(self) -> str | None:
        """The name of the safer policy, if the test shows it."""
        if self.p_value >= self.level:
            return None
        return self.second if self.only_first > self.only_second else self.first


_BY_CHANCE = 0.01
"""If the difference of two counts is less probable than this, they are not counts of the same policy."""


@dataclass(frozen=True)
class Checked:
    """A certificate that was confirmed, and the claims that could not be checked."""

    certificate: Certificate
    """The result of the repeated episodes."""
    unseen: tuple[str, ...] = ()
    """A sentence for each claim that could not be checked."""
    differs_from: Certificate | None = None
    """The original certificate, if another kind of machine made it and its figures differ."""


def certify(
    runs: Sequence[Path],
    request: Request,
    *,
    env: Environment | None = None,
    trust_env: bool = False,
    threads: int = 0,
    on_progress: OnProgress = no_progress,
) -> tuple[list[Certificate], list[Comparison]]:
    """Certify every policy, write the certificates beside them, and compare each pair on the same scenes."""
    policies = [read_policy(run) for run in runs]
    plans = make_plans(policies, request)
    opened = trusted(plans[0].env, env, trust_env=trust_env)
    places = [find(run) for run in runs]
    for place, policy, plan in zip(places, policies, plans, strict=True):
        # If the plan is impossible for one run, it is refused before any run spends a look.
        refuse_look(place, policy, plan)
    looks = [record_look(*one) for one in zip(places, policies, plans, strict=True)]
    certificates, found = [], []
    for number, (place, policy, (plan, run)) in enumerate(zip(places, policies, looks, strict=True)):
        found.append(_episodes(policy, plan, opened, threads, counted_from(on_progress, number * plan.episodes)))
        certificates.append(certificate_of(plan, found[-1], run))
        write_certificate(place, policy, certificates[-1])
    names = [str(run) for run in runs]
    return certificates, compare(names, found, [certificate.plan.error for certificate in certificates])


def make_plans(policies: Sequence[PolicyFile], request: Request) -> list[CertificatePlan]:
    """A plan for each policy, as if it were the first look at its run. All of them have the same scenes."""
    if len({policy.digest for policy in policies}) < len(policies):
        raise BadSetting("The same policy is named twice. Name each one once.")
    if len({(policy.config.env, policy.cost_names) for policy in policies}) > 1:
        raise BadSetting("The policies are for different environments. Certify those of one environment together.")
    plans = [plan_for(policy, request, [policy.digest for policy in policies]) for policy in policies]
    if len({plan.limits for plan in plans}) > 1:
        raise BadSetting("The policies were trained with different limits. Give the same --limits for all of them.")
    if len({plan.limits_on for plan in plans}) > 1:
        raise BadSetting(
            "The limits of some policies bound every state, and those of others the sum of an episode's costs. Give "
            "--limits-on state or --limits-on episode."
        )
    return plans


def plan_for(
    policy: PolicyFile,
    request: Request,
    family: Iterable[str],
    look: int = 1,
    seeding: Version = SEEDING,
    version: Format = 2,
) -> CertificatePlan:
    """The plan that follows from a policy and a request. A check of the certificate derives it again."""
    config, names = policy.config, policy.cost_names
    limits = config.settings.limits if request.limits is None else request.limits
    env = name_of(config.env) if is_suite(config.env) else config.env
    return CertificatePlan(
        env=env,
        world=world_of(env),
        policy=policy.digest,
        family=tuple(sorted(set(family))),
        look=look,
        cost_names=names,
        # −0.0 and 0 are the limit 0.0, and must not get other scenes.
        limits=tuple(float(limit) + 0.0 for limit in replace(config.settings, limits=limits).limits_for(names)),
        actions=request.actions,
        probability=request.probability,
        confidence=request.confidence,
        episodes=request.episodes,
        num_envs=num_envs_for(env, request.episodes),
        k=float(getattr(config.method, "k", PAPER_K)),
        limits_on=request.limits_on or ("state" if not any(limits) else config.algorithm().limits_on),
        seeding=seeding,
        format=version,
    )


def check(
    path: Path,
    policy: Path | None = None,
    *,
    env: Environment | None = None,
    trust_env: bool = False,
    threads: int = 0,
    together: Iterable[Path] = (),
) -> Checked:
    """Repeat a certificate from scratch, and refuse it if a figure differs.

    `together` are the runs or policies that were certified with it, if they are at hand.
    """
    file = path / FILE if path.is_dir() else path
    certificate, place = read_certificate(file), policy or file.parent
    if name := certificate.run.policy:
        raise BadCertificate(
            f"{file} is about {name}, which no run of this package has trained. To repeat it, certify {name} on "
            f"{certificate.plan.env} again: the same policy plays the same episodes, and another count is refused."
        )
    found = read_policy(place)
    if found.digest != certificate.plan.policy:
        raise BadCertificate(
            f"{file} is for another policy: its digest is {certificate.plan.policy[:16]}…, this policy's is "
            f"{found.digest[:16]}…. Name the policy that was certified, or certify this one."
        )
    plan = _derived(certificate.plan, found)
    refuse_other_plan(file, certificate.plan, plan)
    opened = trusted(plan.env, env, trust_env=trust_env)
    unseen = confirm_run(file, certificate, found, [place if place.is_dir() else place.parent, file.parent])
    if others := _others(plan, found, together):
        unseen.append(
            f"The certificate says that {others} other {'policy was' if others == 1 else 'policies were'} certified "
            f"with it. Name {'its run' if others == 1 else 'their runs'}, too."
        )
    again = certificate_of(plan, _episodes(found, plan, opened, threads), certificate.run)
    if again.alike(certificate):
        return Checked(again, tuple(unseen))
    if may_round_otherwise(certificate.run.machine) and _as_chance_allows(again, certificate):
        return Checked(again, tuple(unseen), certificate)
    raise BadCertificate(
        f"In the repetition {again.violations} of {plan.episodes} episodes violate a limit. {file} says "
        f"{certificate.violations}, or other figures differ. The certificate is not confirmed."
    )


def _as_chance_allows(again: Certificate, certificate: Certificate) -> bool:
    """Whether chance alone explains the difference of the counts."""
    from scipy import stats

    pairs = zip(again.counts, certificate.counts, strict=True)
    return all(one == two or stats.binomtest(one, one + two).pvalue >= _BY_CHANCE for one, two in pairs)


def _others(plan: CertificatePlan, policy: PolicyFile, together: Iterable[Path]) -> int:
    """The number of policies in the certificate's family that were not given."""
    unknown = set(plan.family) - {policy.digest}
    return len(unknown - {read_policy(other).digest for other in together}) if unknown else 0


def _derived(plan: CertificatePlan, policy: PolicyFile) -> CertificatePlan:
    """The plan that this program derives from a certificate's request. Nothing else is taken from the certificate."""
    request = Request(plan.probability, plan.confidence, plan.episodes, plan.limits, plan.limits_on, plan.actions)
    seeding = SEEDING if plan.format == 2 else policy.config.seeding
    if plan.format == 1 and len(plan.family) > 1 and plan.seeding > seeding:
        # Policies that were certified together used the latest seeding rules among them.
        seeding = plan.seeding
    return plan_for(policy, request, plan.family, plan.look, seeding, plan.format)


def compare(names: Sequence[str], found: Sequence[Episodes], errors: Sequence[float]) -> list[Comparison]:
    """Compare every pair. Each policy has the error that its look may spend; a pair has the smaller one.

    With probability 1 − max(errors), all differences that it names are real.
    """
    from scipy import stats

    pairs = list(combinations(range(len(names)), 2))
    out = []
    for i, j in pairs:
        only_i = int((~found[i].safe & found[j].safe).sum())
        only_j = int((found[i].safe & ~found[j].safe).sum())
        p = stats.binomtest(only_i, only_i + only_j).pvalue if only_i + only_j else 1.0
        level = min(errors[i], errors[j]) / len(pairs)
        out.append(Comparison(names[i], names[j], only_i, only_j, float(p), level))
    return out


def world_of(env: str) -> str:
    """The simulated world: versions of the programs, and a checksum of the model."""
    try:
        known = suite(env)
    except UnknownSuite:
        return f"gymnasium {metadata.version('gymnasium')}"
    rules = f"{known}{SUBSTEPS}{mjcf(known)}{' indicator' if known.indicator else ''}"
    model = hashlib.sha256(rules.encode()).hexdigest()[:12]
    return f"ascpo {metadata.version('ascpo')}, mujoco {metadata.version('mujoco')}, model {model}"


def _episodes(
    policy: PolicyFile, plan: CertificatePlan, env: Environment, threads: int, on_progress: OnProgress = no_progress
) -> Episodes:
    mean = plan.actions == "mean"
    with closing(
        open_engine(env, plan.num_envs, threads=threads, max_episode_steps=policy.config.max_episode_steps)
    ) as engine:
        actor, theta = policy.actor(), policy.theta
        held = {"limits": plan.limits, "limits_on": plan.limits_on}
        return play(engine, actor, theta, plan.origins, **held, mean_action=mean, on_progress=on_progress).episodes
