"""The plan of a certificate: everything that is fixed before the first episode.

The seed of the scenes is a checksum of everything that determines the episodes. Nobody can choose any of it freely: a
check of the certificate derives the world and the number of environments again, and compares them.

    format 2    all certificates since. Look k of a run spends 6/(π²k²) of the error (`bound.py`)
    format 1    earlier ones: the world and the number of environments are in the seed, and `looks` divides the error
"""

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Literal

from ascpo.choices import Actions, LimitKind
from ascpo.evaluation.bound import allowed_violations, each_of, episodes_needed, spent_error
from ascpo.ranges import check_value, declared
from ascpo.runs.serialization import BadSetting, Plain, from_plain, to_plain
from ascpo.seeding import SCHEMES, EpisodeId, Version
from ascpo.theory.cantelli import PAPER_K

Format = Literal[1, 2]
SEEDING: Version = 2
"""The version of the seeding rules of certificates of format 2, which does not depend on that of the training."""
_MOST = 2**20
"""The largest number of episodes in a plan."""
_DECIDE = ("env", "family", "cost_names", "limits", "limits_on", "actions", "episodes", "seeding")
"""The fields of a plan of format 2 that determine its episodes."""
_UNNAMED: Plain = {"seeding": 1, "limits_on": "state"}
"""Values of the fields that a plan of format 1 does not name."""


@dataclass(frozen=True)
class CertificatePlan:
    """Everything that is fixed before the first episode."""

    env: str = ""
    world: str = ""
    """A fingerprint of the simulated world."""
    policy: str = ""
    """The policy's digest."""
    family: tuple[str, ...] = ()
    """Digests of all policies that are certified at once. Their bounds hold at once."""
    look: int = 1
    """The number of this look at the run. In format 1: the number of certificates that the policy may get."""
    cost_names: tuple[str, ...] = ()
    limits: tuple[float, ...] = ()
    actions: Actions = "sampled"
    probability: float = 0.98
    confidence: float = 0.95
    episodes: int = 3000
    num_envs: int = 1
    k: float = PAPER_K
    """The factor of the variance in the paper's bound."""
    seeding: Version = SEEDING
    """The version of the rules by which scenes are drawn."""
    limits_on: LimitKind = "state"
    """Whether the limits bound the cost of every state, or the sum of an episode's costs."""
    format: Format = 2

    def __post_init__(self) -> None:
        for name in ("actions", "limits_on", "episodes"):
            check_value(declared(CertificatePlan)[name], getattr(self, name), name)
        for name in ("probability", "confidence"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise BadSetting(f"{name}={getattr(self, name)} must lie between 0 and 1.")
        if not all(map(math.isfinite, self.limits)):
            raise BadSetting(f"limits={', '.join(map(str, self.limits))}: every limit must be a finite number.")
        if not math.isfinite(self.k):
            raise BadSetting(f"k={self.k} must be a finite number.")
        if self.look < 1:
            raise BadSetting(f"look={self.look} must be at least 1.")
        if self.seeding not in SCHEMES:
            raise BadSetting(f"seeding={self.seeding!r} is not a version. There are {', '.join(map(str, SCHEMES))}.")
        if self.episodes > _MOST:
            raise BadSetting(f"episodes={self.episodes}: use at most {_MOST}.")
        if self.episodes < 1 or self.allowed < 0:
            raise BadSetting(self._too_few())

    def _too_few(self) -> str:
        look = f" at look {self.look} of this run" if self.format == 2 and self.look > 1 else ""
        return (
            f"{self.episodes} episodes cannot show {self.probability:.4g} with confidence {self.each:.4g}{look}, even "
            f"without a violation. Use at least {episodes_needed(self.probability, self.each)}."
        )

    @property
    def each(self) -> float:
        """The confidence of this statement by itself."""
        together = max(len(self.family), 1)
        if self.format == 1:
            return each_of(self.confidence, together * self.look)
        return each_of(1.0 - self.error, together)

    @property
    def error(self) -> float:
        """The error that this look may spend."""
        return spent_error(1.0 - self.confidence, self.look)

    @property
    def allowed(self) -> int:
        """The largest number of violations with which the policy is still certified."""
        return allowed_violations(self.episodes, self.probability, self.each)

    @property
    def experiment(self) -> str:
        """A checksum of what determines the episodes. It does not depend on the probability, confidence or look."""
        if self.format == 1:
            free = {"probability": 0.5, "confidence": 0.5, "looks": 1, "k": 0.0, "policy": ""}
            hashed = self.plain() | free | {"family": sorted(self.family)}
        else:
            hashed = {name: to_plain(getattr(self, name)) for name in _DECIDE} | {"family": sorted(self.family)}
        return hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()

    @property
    def seed(self) -> int:
        """The seed, which follows from the plan. If it were free, one could try seeds until one passes."""
        return SCHEMES[self.seeding].certificate_seed(int(self.experiment[:8], 16))

    @property
    def origins(self) -> list[EpisodeId]:
        """The episodes to play."""
        return SCHEMES[self.seeding].certificate(self.seed, self.episodes)

    def plain(self) -> Plain:
        """Plain data for JSON, in the plan's format."""
        named = {name: value for name, value in to_plain(self).items() if name != "format"}
        if self.format == 2:
            return named
        named["looks"] = named.pop("look")
        return {name: value for name, value in named.items() if (name, value) not in _UNNAMED.items()}

    @staticmethod
    def from_plain(plain: Plain, version: Format) -> "CertificatePlan":
        if version == 1:
            plain = _UNNAMED | plain
            plain["look"] = plain.pop("looks")
        return from_plain(CertificatePlan, plain | {"format": version})
