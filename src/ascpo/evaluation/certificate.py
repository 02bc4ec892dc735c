"""A certificate: what was planned, what was counted, what follows from it, and what does not.

It is plain JSON. `digest` is a checksum of all the rest, so that a slip of an editor does not go unnoticed; a forger
can compute it too. What makes a certificate worth something is that everybody can repeat it: the seeds follow from the
plan, so that nobody can choose them, and with the same policy the same episodes come out.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ascpo.evaluation.bound import allowed_violations, each_of, episodes_needed, lower_bound
from ascpo.evaluation.episodes import Episodes
from ascpo.runs.directory import write_whole
from ascpo.runs.plain import BadSetting, from_plain, to_plain
from ascpo.theory.cantelli import PAPER_K, confidence_of_variance, variance_bound

_FORMAT = "ascpo certificate 1"
_FIRST_SEED = 2**31
"""Certificates have seeds of their own, beyond those of trainings and evaluations."""
_MOST = 2**20
"""Episodes of a plan, a seed each."""


class BadCertificate(ValueError):
    """A certificate that is not to be believed."""


@dataclass(frozen=True)
class Plan:
    """All that is fixed before the first episode."""

    env: str = ""
    world: str = ""
    """A fingerprint of what is simulated."""
    policy: str = ""
    """Its digest."""
    family: tuple[str, ...] = ()
    """Digests of all policies that are certified together; each is bounded so that all bounds hold together."""
    looks: int = 1
    """Certificates that this policy may get; the confidence is corrected for them."""
    cost_names: tuple[str, ...] = ()
    limits: tuple[float, ...] = ()
    actions: Literal["sampled", "mean"] = "sampled"
    probability: float = 0.98
    confidence: float = 0.95
    episodes: int = 3000
    num_envs: int = 1
    k: float = PAPER_K
    """Factor of the variance in the paper's bound."""

    def __post_init__(self) -> None:
        for name in ("probability", "confidence"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise BadSetting(f"{name}={getattr(self, name)} must lie between 0 and 1.")
        if self.looks < 1:
            raise BadSetting(f"looks={self.looks}: a certificate is one look at least.")
        if self.episodes > _MOST:
            raise BadSetting(f"episodes={self.episodes}: at most {_MOST} have seeds of their own.")
        if self.episodes < 1 or self.allowed < 0:
            raise BadSetting(
                f"{self.episodes} episodes cannot show {self.probability:.4g} with confidence {self.each:.4g}, even "
                f"without a violation. Ask for at least {episodes_needed(self.probability, self.each)}."
            )

    @property
    def each(self) -> float:
        """The confidence of this one statement."""
        return each_of(self.confidence, max(len(self.family), 1) * self.looks)

    @property
    def allowed(self) -> int:
        """So many episodes may violate a limit, and the policy is still certified."""
        return allowed_violations(self.episodes, self.probability, self.each)

    @property
    def experiment(self) -> str:
        """What decides the episodes. The same for two plans that only ask for another probability or confidence."""
        free = {"probability": 0.5, "confidence": 0.5, "looks": 1, "k": 0.0, "policy": ""}
        plain = to_plain(self) | free | {"family": sorted(self.family)}
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()

    @property
    def seed(self) -> int:
        """It follows from the plan: whoever could choose it could try until it fits."""
        return _FIRST_SEED + int(self.experiment[:8], 16) % (2**31 - _MOST)


@dataclass(frozen=True)
class Theory:
    """What mean and variance of the largest cost promise, from one half of the episodes, tried on the other half."""

    mean: float = 0.0
    """ℰ."""
    variance: float = 0.0
    """𝒱."""
    bound: float = 0.0
    """ℬ_k = ℰ + k𝒱."""
    promised: float = 0.0
    """Cantelli's p: an episode's largest cost is at most ℬ_k with at least this probability."""
    within: float = 0.0
    """Share of the other half that was."""
    held: bool = False
    """Whether that is consistent with the promise."""
    at_the_limit: float = 0.0
    """What the same inequality promises of the limit itself."""


@dataclass(frozen=True)
class OfConstraint:
    """What was counted for one constraint, and what follows. All constraints' bounds hold together."""

    name: str = ""
    limit: float = 0.0
    violations: int = 0
    bound: float = 0.0
    theory: Theory = Theory()


@dataclass(frozen=True)
class Certificate:
    """The plan, and what came out."""

    plan: Plan
    violations: int
    """Episodes in which some state was over some limit."""
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
            "plan": to_plain(self.plan),
            "constraints": [to_plain(one) for one in self.constraints],
        }
        return json.dumps(plain | {"digest": _digest(plain)}, indent=2) + "\n"

    @staticmethod
    def from_json(text: str) -> "Certificate":
        """A certificate whose parts agree with each other; others are refused."""
        try:
            plain = json.loads(text)
            digest = plain.pop("digest")
            if plain["format"] != _FORMAT:
                raise BadCertificate(f"its format is {plain['format']!r}, not {_FORMAT!r}.")
            plan = from_plain(Plan, plain["plan"])
            constraints = tuple(from_plain(OfConstraint, one) for one in plain["constraints"])
            found = Certificate(plan, plain["violations"], constraints)
            whole = _digest(plain) == digest and json.loads(found.to_json())["digest"] == digest and _agrees(found)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadCertificate(f"This is no certificate of this program: {error}") from error
        if not whole:
            raise BadCertificate(
                "The certificate was changed after it was made: its parts do not agree. Ask for the original, or make "
                "another with `ascpo certify`."
            )
        return found


def read_certificate(path: Path) -> Certificate:
    if not path.exists():
        raise BadCertificate(f"{path} is not there. `ascpo certify {path.parent}` makes one.")
    return Certificate.from_json(path.read_text())


def write_certificate(path: Path, certificate: Certificate) -> None:
    write_whole(path, certificate.to_json())


def certificate_of(plan: Plan, episodes: Episodes) -> Certificate:
    """What the episodes of a plan show."""
    if len(episodes) != plan.episodes:
        raise ValueError(f"{len(episodes)} episodes were played, and {plan.episodes} were planned.")
    each = each_of(plan.each, len(plan.cost_names))
    constraints = []
    for i, (name, limit) in enumerate(zip(plan.cost_names, plan.limits, strict=True)):
        violations = int((episodes.first_violation[:, i] >= 0).sum())
        bound = lower_bound(violations, plan.episodes, each)
        constraints.append(OfConstraint(name, limit, violations, bound, theory_of(episodes.maximum[:, i], limit, plan)))
    return Certificate(plan, int((~episodes.safe).sum()), tuple(constraints))


def _agrees(certificate: Certificate) -> bool:
    """Whether what can be worked out again without the episodes comes out the same."""
    plan = certificate.plan
    each = each_of(plan.each, max(len(plan.cost_names), 1))
    return plan.policy in plan.family and all(
        one.bound == lower_bound(one.violations, plan.episodes, each) and one.violations <= certificate.violations
        for one in certificate.constraints
    )


def theory_of(maximum: np.ndarray, limit: float, plan: Plan) -> Theory:
    """Tried on other episodes than it was made of: on the same ones Cantelli's inequality cannot fail."""
    made_of, tried_on = maximum[::2], maximum[1::2]
    if len(tried_on) == 0:
        tried_on = made_of
    mean, variance = float(made_of.mean()), float(made_of.var())
    bound = variance_bound(mean, variance, plan.k)
    promised = confidence_of_variance(variance, plan.k)
    within = int((tried_on <= bound).sum())
    # The share that was within has an error of its own; the promise fails if even the upper end of it is below.
    upper = 1.0 - lower_bound(within, len(tried_on), plan.confidence)
    gap = max(limit - mean, 0.0)
    return Theory(
        mean=mean,
        variance=variance,
        bound=bound,
        promised=promised,
        within=within / len(tried_on),
        held=upper >= promised,
        at_the_limit=gap**2 / (variance + gap**2) if gap > 0 else 0.0,
    )


def statement(certificate: Certificate) -> list[str]:
    """In words: what was done, what it shows, and what it does not."""
    return [*findings(certificate), *meaning(certificate.plan.confidence)]


def findings(certificate: Certificate) -> list[str]:
    """What was done, and what it shows."""
    plan = certificate.plan
    limits = " and ".join(f"{name} ≤ {limit:g}" for name, limit in zip(plan.cost_names, plan.limits, strict=True))
    how = "drawn by the policy" if plan.actions == "sampled" else "the policy's mean ones"
    lines = [
        f"{plan.episodes} episodes of {plan.env} were planned and played, with actions {how}, from scenes drawn for "
        f"this alone. In {certificate.violations} of them some state broke {limits}.",
        f"With confidence {plan.confidence:.4g}, an episode keeps {limits} in every state with a probability of at "
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
    """Never rounded up."""
    return f"{np.floor(probability * 1e4) / 1e4:.4f}"


def _digest(plain: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
