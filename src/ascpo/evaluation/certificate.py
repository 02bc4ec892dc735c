"""A certificate: the plan, the counts, what follows from them, and what does not.

It is plain JSON. `digest` is a checksum of the rest, which notices an accidental edit; a forger can compute it too. A
certificate has its worth because everybody can repeat it: the seeds follow from the plan, so that nobody can choose
them, and the same policy gives the same episodes.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from ascpo.evaluation.bound import allowed_violations, each_of, episodes_needed, lower_bound
from ascpo.evaluation.episodes import Episodes
from ascpo.experience.episodes import LimitKind
from ascpo.runs.serialization import BadSetting, Plain, from_plain, to_plain
from ascpo.seeding import LATEST, SCHEMES, EpisodeId, Version
from ascpo.theory.cantelli import PAPER_K, confidence_of_variance, variance_bound

_FORMAT = "ascpo certificate 1"
_MOST = 2**20
"""The largest number of episodes in a plan."""
_BEFORE: Plain = {"seeding": 1, "limits_on": "state"}
"""What a certificate means that does not name it."""


class BadCertificate(ValueError):
    """A certificate that is not valid."""


@dataclass(frozen=True)
class CertificatePlan:
    """All that is fixed before the first episode. The seed is a checksum of these names and values."""

    env: str = ""
    world: str = ""
    """A fingerprint of the simulated world."""
    policy: str = ""
    """The policy's digest."""
    family: tuple[str, ...] = ()
    """Digests of all policies that are certified at once. Their bounds hold at once."""
    looks: int = 1
    """The number of certificates that this policy may get. The confidence is corrected for it."""
    cost_names: tuple[str, ...] = ()
    limits: tuple[float, ...] = ()
    actions: Literal["sampled", "mean"] = "sampled"
    probability: float = 0.98
    confidence: float = 0.95
    episodes: int = 3000
    num_envs: int = 1
    k: float = PAPER_K
    """The factor of the variance in the paper's bound."""
    seeding: Version = LATEST
    """The version of the rules by which scenes are drawn."""
    limits_on: LimitKind = "state"
    """Whether the limits bound the cost of every state, or the sum of an episode's costs."""

    def __post_init__(self) -> None:
        for name in ("probability", "confidence"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise BadSetting(f"{name}={getattr(self, name)} must lie between 0 and 1.")
        if self.looks < 1:
            raise BadSetting(f"looks={self.looks} must be at least 1.")
        if self.seeding not in SCHEMES:
            raise BadSetting(f"seeding={self.seeding!r} is no version. There are {', '.join(map(str, SCHEMES))}.")
        if self.episodes > _MOST:
            raise BadSetting(f"episodes={self.episodes}: use at most {_MOST}.")
        if self.episodes < 1 or self.allowed < 0:
            raise BadSetting(
                f"{self.episodes} episodes cannot show {self.probability:.4g} with confidence {self.each:.4g}, even "
                f"without a violation. Use at least {episodes_needed(self.probability, self.each)}."
            )

    @property
    def each(self) -> float:
        """The confidence of this statement by itself."""
        return each_of(self.confidence, max(len(self.family), 1) * self.looks)

    @property
    def allowed(self) -> int:
        """The largest number of violations with which the policy is still certified."""
        return allowed_violations(self.episodes, self.probability, self.each)

    @property
    def experiment(self) -> str:
        """A checksum of what decides the episodes. Another probability or confidence does not change it."""
        free = {"probability": 0.5, "confidence": 0.5, "looks": 1, "k": 0.0, "policy": ""}
        plain = self.plain() | free | {"family": sorted(self.family)}
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()

    @property
    def seed(self) -> int:
        """The seed follows from the plan. If it could be chosen, one could try seeds until one fits."""
        return SCHEMES[self.seeding].certificate_seed(int(self.experiment[:8], 16))

    @property
    def origins(self) -> list[EpisodeId]:
        """The episodes to play."""
        return SCHEMES[self.seeding].certificate(self.seed, self.episodes)

    def plain(self) -> Plain:
        """Plain data for JSON. What earlier certificates do not name is left out, so that checksums stay the same."""
        return {name: value for name, value in to_plain(self).items() if (name, value) not in _BEFORE.items()}


@dataclass(frozen=True)
class Theory:
    """What mean and variance of the largest cost guarantee: from one half of the episodes, tested on the other half."""

    mean: float = 0.0
    """ℰ."""
    variance: float = 0.0
    """𝒱."""
    bound: float = 0.0
    """ℬ_k = ℰ + k𝒱."""
    promised: float = 0.0
    """Cantelli's p: an episode's largest cost is at most ℬ_k with at least this probability."""
    within: float = 0.0
    """The share of the other half within ℬ_k."""
    held: bool = False
    """Whether this share is consistent with Cantelli's p."""
    at_the_limit: float = 0.0
    """What the same inequality guarantees for the limit itself."""


@dataclass(frozen=True)
class OfConstraint:
    """The count of one constraint, and its bound. The bounds of all constraints hold at once."""

    name: str = ""
    limit: float = 0.0
    violations: int = 0
    bound: float = 0.0
    theory: Theory = Theory()


@dataclass(frozen=True)
class Certificate:
    """The plan and its result."""

    plan: CertificatePlan
    violations: int
    """The number of episodes in which some state broke a limit."""
    constraints: tuple[OfConstraint, ...]

    @property
    def bound(self) -> float:
        """The probability that every state of an episode is within its limits is at least this."""
        return lower_bound(self.violations, self.plan.episodes, self.plan.each)

    @property
    def certified(self) -> bool:
        return self.bound >= self.plan.probability

    def to_json(self) -> str:
        plain = {
            "format": _FORMAT,
            "statement": statement(self),
            "certified": self.certified,
            "bound": self.bound,
            "probability": self.plan.probability,
            "confidence": self.plan.confidence,
            "episodes": self.plan.episodes,
            "violations": self.violations,
            "seed": self.plan.seed,
            "plan": self.plan.plain(),
            "constraints": [to_plain(one) for one in self.constraints],
        }
        return json.dumps(plain | {"digest": _digest(plain)}, indent=2) + "\n"

    @staticmethod
    def from_json(text: str) -> "Certificate":
        """Read a certificate, and refuse it if its parts do not agree."""
        try:
            plain = json.loads(text)
            digest = plain.pop("digest")
            if plain["format"] != _FORMAT:
                raise BadCertificate(f"its format is {plain['format']!r}, not {_FORMAT!r}.")
            plan = from_plain(CertificatePlan, _BEFORE | plain["plan"])
            constraints = tuple(from_plain(OfConstraint, one) for one in plain["constraints"])
            found = Certificate(plan, plain["violations"], constraints)
            whole = _digest(plain) == digest and json.loads(found.to_json())["digest"] == digest and _agrees(found)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadCertificate(f"This is not a certificate of this program: {error}") from error
        if not whole:
            raise BadCertificate(
                "The certificate was changed after it was made: its parts do not agree. Use the original, or make "
                "another one with `ascpo certify`."
            )
        return found


def read_certificate(path: Path) -> Certificate:
    if not path.exists():
        raise BadCertificate(f"{path} does not exist. `ascpo certify {path.parent}` makes one.")
    return Certificate.from_json(path.read_text())


def certificate_of(plan: CertificatePlan, episodes: Episodes) -> Certificate:
    """The certificate that the episodes of a plan give."""
    if len(episodes) != plan.episodes:
        raise ValueError(f"{len(episodes)} episodes were played, and {plan.episodes} were planned.")
    each = each_of(plan.each, len(plan.cost_names))
    constraints = []
    for i, (name, limit) in enumerate(zip(plan.cost_names, plan.limits, strict=True)):
        violations = int((episodes.first_violation[:, i] >= 0).sum())
        bound = lower_bound(violations, plan.episodes, each)
        theory = theory_of(episodes.limited(plan.limits_on)[:, i], limit, plan)
        constraints.append(OfConstraint(name, limit, violations, bound, theory))
    return Certificate(plan, int((~episodes.safe).sum()), tuple(constraints))


def _agrees(certificate: Certificate) -> bool:
    """Whether all that can be computed without the episodes comes out the same."""
    plan = certificate.plan
    each = each_of(plan.each, max(len(plan.cost_names), 1))
    return plan.policy in plan.family and all(
        one.bound == lower_bound(one.violations, plan.episodes, each) and one.violations <= certificate.violations
        for one in certificate.constraints
    )


def theory_of(maximum: np.ndarray, limit: float, plan: CertificatePlan) -> Theory:
    """Tested on other episodes than those it comes from: on the same ones Cantelli's inequality cannot fail."""
    fitted = maximum[::2]
    tested = maximum[1::2] if len(maximum) > 1 else fitted
    mean, variance = float(fitted.mean()), float(fitted.var())
    bound = variance_bound(mean, variance, plan.k)
    promised = confidence_of_variance(variance, plan.k)
    within = int((tested <= bound).sum())
    # The share itself is uncertain: the inequality fails only if the upper end of its interval is below p.
    upper = 1.0 - lower_bound(within, len(tested), plan.confidence)
    gap = max(limit - mean, 0.0)
    at_the_limit = gap**2 / (variance + gap**2) if gap > 0 else 0.0
    return Theory(mean, variance, bound, promised, within / len(tested), upper >= promised, at_the_limit)


def statement(certificate: Certificate) -> list[str]:
    """The certificate in words. They are part of the format: certificates of earlier versions have the same."""
    return [*findings(certificate), *meaning(certificate.plan.confidence)]


def findings(certificate: Certificate) -> list[str]:
    """What was done and what it shows."""
    plan = certificate.plan
    limits = " and ".join(f"{name} ≤ {limit:g}" for name, limit in zip(plan.cost_names, plan.limits, strict=True))
    breaks, where = "some state broke", "in every state"
    if plan.limits_on == "episode":
        breaks, where = "the sum of the costs broke", "in the sum of its costs"
    how = "drawn by the policy" if plan.actions == "sampled" else "the policy's mean ones"
    lines = [
        f"{plan.episodes} episodes of {plan.env} were planned and played, with actions {how}, from scenes drawn for "
        f"this alone. In {certificate.violations} of them {breaks} {limits}.",
        f"With confidence {plan.confidence:.4g}, an episode keeps {limits} {where} with a probability of at "
        f"least {_down(certificate.bound)}.",
        f"Asked for was {plan.probability:.4g}, which allows {plan.allowed} violations: "
        f"{'CERTIFIED' if certificate.certified else 'NOT certified'}.",
    ]
    if len(plan.family) > 1 or plan.looks > 1:
        lines.append(
            f"The confidence is that of all {len(plan.family)} policies' statements together, with {plan.looks} "
            f"{'certificate' if plan.looks == 1 else 'certificates'} each; this one by itself has {plan.each:.4g}."
        )
    if len(certificate.constraints) > 1:
        each = ", ".join(f"{one.name} {_down(one.bound)}" for one in certificate.constraints)
        lines.append(f"Each constraint by itself is kept with at least: {each} (all of these together).")
    return lines


def meaning(confidence: float) -> list[str]:
    """What follows from any certificate, and what does not."""
    return [
        "It means: if policies were tested like this again and again, at most "
        f"{100 * (1 - confidence):.3g} of 100 such bounds would be above the truth, whatever the policies are.",
        "It does not mean: anything about a single scene (some may be unsafe always), about robots, sensors or worlds "
        "that differ from the simulated one, about how bad a violation is, or about a policy that was chosen because "
        "its certificate looked best. For that, name all candidates in one command, or certify the chosen one anew.",
    ]


def _down(probability: float) -> str:
    return f"{np.floor(probability * 1e4) / 1e4:.4f}"


def _digest(plain: Plain) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
