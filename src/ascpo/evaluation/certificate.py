"""A certificate: the plan, the counts, what they show, and what they do not show.

It is plain JSON. `digest` is a checksum of the rest, which detects accidental edits; a forger can compute it too. A
certificate is trustworthy because everybody can repeat it: the seeds follow from the plan, so that nobody can choose
them, and the same policy plays the same episodes.
"""

import hashlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ascpo.evaluation import statement as words
from ascpo.evaluation.binding import RunBinding
from ascpo.evaluation.bound import each_of, lower_bound
from ascpo.evaluation.plan import CertificatePlan, Format
from ascpo.runs.episodes import Episodes
from ascpo.runs.serialization import Plain, from_plain, to_plain
from ascpo.theory.cantelli import confidence_of_variance, variance_bound

_ROUNDING = 1e-9
_FORMATS: dict[str, Format] = {"ascpo certificate 1": 1, "ascpo certificate 2": 2}


class BadCertificate(ValueError):
    """A certificate that is not valid."""


@dataclass(frozen=True)
class Theory:
    """The guarantee from mean and variance of the largest cost over half of the episodes, tested on the other half."""

    mean: float = 0.0
    """ℰ."""
    variance: float = 0.0
    """𝒱."""
    bound: float = 0.0
    """ℬ_k = ℰ + k𝒱."""
    promised: float = 0.0
    """Cantelli's p: the largest cost of an episode is at most ℬ_k with at least this probability."""
    within: float = 0.0
    """The share of the other half's episodes within ℬ_k."""
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
    run: RunBinding = field(default_factory=RunBinding)
    """The run of the policy. Certificates of format 1 do not name it."""

    @property
    def bound(self) -> float:
        """The probability that every state of an episode is within its limits is at least this."""
        return lower_bound(self.violations, self.plan.episodes, self.plan.each)

    @property
    def certified(self) -> bool:
        return self.bound >= self.plan.probability

    def alike(self, other: "Certificate") -> bool:
        """Whether two certificates have the same figures, up to rounding."""
        return _alike(self.plain(), other.plain())

    @property
    def counts(self) -> tuple[int, ...]:
        """Episodes that broke some limit, and those that broke each one."""
        return self.violations, *(one.violations for one in self.constraints)

    @property
    def findings(self) -> list[str]:
        """Sentences about the experiment and what it shows."""
        return words.findings(self.plan, self.run, self.violations, self.bound, self.constraints)

    @property
    def statement(self) -> list[str]:
        """The certificate in sentences. They are part of the format, so earlier versions wrote the same ones."""
        return [*self.findings, *words.meaning(self.plan.confidence, self.plan.format, self.run.policy)]

    def plain(self) -> Plain:
        """The content of its file without the checksum."""
        plain = {
            "format": f"ascpo certificate {self.plan.format}",
            "statement": self.statement,
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
        if self.plan.format > 1:
            plain |= {"look": self.plan.look, "run": self.run.plain()}
        return plain

    def to_json(self) -> str:
        plain = self.plain()
        return json.dumps(plain | {"digest": _digest(plain)}, indent=2, allow_nan=False) + "\n"

    @staticmethod
    def from_json(text: str) -> "Certificate":
        """Read a certificate, and refuse it if its parts do not agree."""
        try:
            plain = json.loads(text)
            digest = plain.pop("digest")
            if plain["format"] not in _FORMATS:
                raise BadCertificate(f"its format is {plain['format']!r}, not one of {', '.join(_FORMATS)}.")
            plan = CertificatePlan.from_plain(plain["plan"], _FORMATS[plain["format"]])
            constraints = tuple(from_plain(OfConstraint, one) for one in plain["constraints"])
            found = Certificate(plan, plain["violations"], constraints, from_plain(RunBinding, plain.get("run", {})))
            whole = _digest(plain) == digest and _alike(found.plain(), plain) and _agrees(found)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
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
    try:
        return Certificate.from_json(path.read_text())
    except ValueError as error:
        raise BadCertificate(f"{path}: {error}") from error


def certificate_of(plan: CertificatePlan, episodes: Episodes, run: RunBinding | None = None) -> Certificate:
    """The certificate that follows from the episodes of a plan."""
    if len(episodes) != plan.episodes:
        raise ValueError(f"{len(episodes)} episodes were played, and {plan.episodes} were planned.")
    if not np.isfinite(episodes.limited(plan.limits_on)).all():
        raise ValueError(f"{plan.env} has costs that are not finite, so nothing can be certified. Correct its costs.")
    each = each_of(plan.each, len(plan.cost_names))
    constraints = []
    for i, (name, limit) in enumerate(zip(plan.cost_names, plan.limits, strict=True)):
        violations = int((episodes.first_violation[:, i] >= 0).sum())
        bound = lower_bound(violations, plan.episodes, each)
        theory = theory_of(episodes.limited(plan.limits_on)[:, i], limit, plan)
        constraints.append(OfConstraint(name, limit, violations, bound, theory))
    return Certificate(plan, int((~episodes.safe).sum()), tuple(constraints), run or RunBinding())


def _agrees(certificate: Certificate) -> bool:
    """Whether everything that follows from the counts is consistent with them."""
    plan, constraints = certificate.plan, certificate.constraints
    each = each_of(plan.each, max(len(plan.cost_names), 1))
    return (
        type(certificate.violations) is int
        and plan.policy in plan.family
        and tuple(one.name for one in constraints) == plan.cost_names
        and tuple(one.limit for one in constraints) == plan.limits
        and all(one.violations <= certificate.violations <= sum(certificate.counts[1:]) for one in constraints)
        and all(_alike(one.bound, lower_bound(one.violations, plan.episodes, each)) for one in constraints)
    )


def _alike(one: Any, other: Any) -> bool:
    """Whether two parts of a file are equal. The last digits of a bound may differ between processors."""
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(_alike(part, other[name]) for name, part in one.items())
        case ((list() | tuple()), (list() | tuple())):
            return len(one) == len(other) and all(map(_alike, one, other))
        case float(), float():
            return math.isfinite(one) and math.isclose(one, other, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
        case _:
            return type(one) is type(other) and one == other


def theory_of(maximum: np.ndarray, limit: float, plan: CertificatePlan) -> Theory:
    """The test uses other episodes than the estimate, since on the same ones Cantelli's inequality cannot fail."""
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


def _digest(plain: Plain) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
