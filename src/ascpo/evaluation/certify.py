"""Certify policies, check a certificate from scratch, and compare policies on the same scenes."""

import hashlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Literal

from ascpo.evaluation.bound import each_of
from ascpo.evaluation.certificate import BadCertificate, Certificate, CertificatePlan, certificate_of, read_certificate
from ascpo.evaluation.episodes import Episodes, Report, play, say_nothing
from ascpo.experience.episodes import LimitKind
from ascpo.guard.model import SUBSTEPS, mjcf
from ascpo.guard.suites import UnknownSuite, suite
from ascpo.runs.directory import find, write_whole
from ascpo.runs.environment import Environment, open_engine, side_by_side
from ascpo.runs.serialization import BadSetting
from ascpo.runs.trained_policy import PolicyFile, read_policy
from ascpo.runs.trust import trusted
from ascpo.theory.cantelli import PAPER_K

FILE = "certificate.json"


@dataclass(frozen=True)
class Request:
    """What a certificate should show."""

    probability: float = 0.98
    """The probability to show: that an episode keeps its limits."""
    confidence: float = 0.95
    """The confidence of the statement, or of all statements at once if there are several policies."""
    episodes: int = 3000
    """The number of episodes. It is fixed before the first one, whatever comes out."""
    limits: tuple[float, ...] | None = None
    """The limit of each constraint. The default is the limits of the training."""
    limits_on: LimitKind | None = None
    """Whether the limits bound the cost of every state, or the sum of an episode's costs. The default is what the
    algorithm's limits bound; limits of zero bound every state."""
    actions: Literal["sampled", "mean"] = "sampled"
    """Which actions the policy takes: those that it samples, or its mean actions."""
    looks: int = 1
    """The number of certificates with different plans that this policy may get, this one included."""


@dataclass(frozen=True)
class Comparison:
    """A comparison of two policies on the same scenes."""

    first: str
    second: str
    only_first: int
    """Scenes in which only the first policy violated a limit."""
    only_second: int
    p_value: float
    """McNemar's exact test against no difference, two-sided."""
    level: float
    """A smaller p-value shows a difference. The level is corrected for the number of pairs."""

    @property
    def safer(self) -> str | None:
        """The name of the safer policy, if the test shows it."""
        if self.p_value >= self.level:
            return None
        return self.second if self.only_first > self.only_second else self.first


def certify(
    runs: Sequence[Path],
    request: Request,
    *,
    env: Environment | None = None,
    trust_env: bool = False,
    threads: int = 0,
    report: Report = say_nothing,
) -> tuple[list[Certificate], list[Comparison]]:
    """Certify every policy, write the certificates beside them, and compare each pair on the same scenes."""
    policies = [read_policy(run) for run in runs]
    plans = make_plans(policies, request)
    opened = trusted(plans[0].env, env, trust_env=trust_env)
    for run, plan in zip(runs, plans, strict=True):
        _refuse_another_look(_place(run), plan)
    certificates, found = [], []
    for number, (run, policy, plan) in enumerate(zip(runs, policies, plans, strict=True)):
        found.append(_episodes(policy, plan, opened, threads, _after(report, number * plan.episodes)))
        certificates.append(certificate_of(plan, found[-1]))
        _keep_earlier(_place(run), plan)
        write_whole(_place(run), certificates[-1].to_json())
    names = [str(run) for run in runs]
    return certificates, compare(names, found, 1.0 - request.confidence)


def make_plans(policies: Sequence[PolicyFile], request: Request) -> list[CertificatePlan]:
    """A plan for each policy. All of them have the same scenes."""
    if len({policy.digest for policy in policies}) < len(policies):
        raise BadSetting("The same policy is named twice. Name each one once.")
    if len({(policy.config.env, policy.cost_names) for policy in policies}) > 1:
        raise BadSetting("The policies are for different environments. Certify those of one environment together.")
    family = tuple(sorted(policy.digest for policy in policies))
    # All play the same scenes. Those of the latest version are in no training, of whatever version.
    seeding = max(policy.config.seeding for policy in policies)
    plans = []
    for policy in policies:
        config, names = policy.config, policy.cost_names
        limits = config.settings.limits if request.limits is None else request.limits
        of_policy = {
            "env": config.env,
            "world": world_of(config.env),
            "policy": policy.digest,
            "family": family,
            "cost_names": names,
            "limits": replace(config.settings, limits=limits).limits_for(names),
            "limits_on": request.limits_on or ("state" if not any(limits) else config.algorithm().limits_on),
            "num_envs": side_by_side(config.env, request.episodes),
            "seeding": seeding,
            "k": float(getattr(config.method, "k", PAPER_K)),
        }
        plans.append(CertificatePlan(**(vars(request) | of_policy)))
    if len({plan.limits for plan in plans}) > 1:
        raise BadSetting("The policies were trained with different limits. Give --limits to hold all to the same ones.")
    if len({plan.limits_on for plan in plans}) > 1:
        raise BadSetting(
            "The limits of some policies bound every state, and those of others the sum of an episode's costs. Give "
            "--limits-on state or --limits-on episode."
        )
    return plans


def check(
    path: Path,
    policy: Path | None = None,
    *,
    env: Environment | None = None,
    trust_env: bool = False,
    threads: int = 0,
) -> Certificate:
    """Repeat a certificate from scratch, and refuse it if a figure differs."""
    certificate = read_certificate(path / FILE if path.is_dir() else path)
    plan = certificate.plan
    found = read_policy(policy or (path if path.is_dir() else path.parent))
    if found.digest != plan.policy or plan.policy not in plan.family:
        raise BadCertificate(
            f"The certificate is for another policy: its digest is {plan.policy[:16]}…, this policy's is "
            f"{found.digest[:16]}…. Name the policy that was certified, or certify this one."
        )
    if found.config.env != plan.env or found.cost_names != plan.cost_names:
        raise BadCertificate(f"The certificate is for {plan.env}, and the policy for {found.config.env}.")
    again = certificate_of(plan, _episodes(found, plan, trusted(plan.env, env, trust_env=trust_env), threads))
    if again != certificate:
        here = world_of(plan.env)
        why = f"It was made with {plan.world}, and this machine has {here}. " if here != plan.world else ""
        raise BadCertificate(
            f"In the repetition {again.violations} of {plan.episodes} episodes violate a limit. The certificate says "
            f"{certificate.violations}, or other figures differ. {why}The certificate is not confirmed."
        )
    return again


def compare(names: Sequence[str], found: Sequence[Episodes], error: float) -> list[Comparison]:
    """Compare every pair. With probability 1 − `error`, all differences that it names are real."""
    from scipy import stats

    pairs = list(combinations(range(len(names)), 2))
    out = []
    for i, j in pairs:
        only_i = int((~found[i].safe & found[j].safe).sum())
        only_j = int((found[i].safe & ~found[j].safe).sum())
        p = stats.binomtest(only_i, only_i + only_j).pvalue if only_i + only_j else 1.0
        out.append(Comparison(names[i], names[j], only_i, only_j, float(p), 1.0 - each_of(1.0 - error, len(pairs))))
    return out


def world_of(env: str) -> str:
    """The simulated world: versions of the programs, and a checksum of the model."""
    try:
        known = suite(env)
    except UnknownSuite:
        return f"gymnasium {version('gymnasium')}"
    rules = f"{known}{SUBSTEPS}{mjcf(known)}{' indicator' if known.indicator else ''}"
    model = hashlib.sha256(rules.encode()).hexdigest()[:12]
    return f"ascpo {version('ascpo')}, mujoco {version('mujoco')}, model {model}"


def _episodes(
    policy: PolicyFile, plan: CertificatePlan, env: Environment, threads: int, report: Report = say_nothing
) -> Episodes:
    mean = plan.actions == "mean"
    with closing(open_engine(env, plan.num_envs, threads=threads)) as engine:
        actor, theta = policy.actor(), policy.theta
        held = {"limits": plan.limits, "limits_on": plan.limits_on}
        return play(engine, actor, theta, plan.origins, **held, mean_action=mean, report=report).episodes


def _place(run: Path) -> Path:
    return find(run).path / FILE


def _earlier(place: Path, plan: CertificatePlan) -> set[str]:
    """Other experiments with the same policy."""
    found = [read_certificate(path).plan for path in place.parent.glob("certificate*.json")]
    return {other.experiment for other in found if other.policy == plan.policy} - {plan.experiment}


def _refuse_another_look(place: Path, plan: CertificatePlan) -> None:
    """Refuse a further plan: testing until a result fits shows nothing."""
    if (earlier := len(_earlier(place, plan))) >= plan.looks:
        raise BadSetting(
            f"This policy has {earlier} certificate{'s' if earlier > 1 else ''} with another plan already (see "
            f"{place.parent}). Testing until a result fits shows nothing. Use --looks {earlier + 1}: the confidence is "
            f"then corrected for so many certificates."
        )


def _keep_earlier(place: Path, plan: CertificatePlan) -> None:
    """Keep a certificate of the same policy with another plan under another name."""
    if place.exists():
        before = read_certificate(place)
        if before.plan.policy == plan.policy and before.plan.experiment != plan.experiment:
            place.rename(place.with_name(f"certificate-{before.plan.experiment[:8]}.json"))


def _after(report: Report, before: int) -> Report:
    return lambda done: report(before + done)
