"""The plan of a certificate: all that is fixed before the first episode.

The seed of the scenes is a checksum of what decides the episodes. Nothing that a person could write at will is in it:
the world and the number of environments are derived again by whoever checks the certificate, and compared.

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
from ascpo.runs.serialization import BadSetting, Plain, from_plain, to_plain
from ascpo.seeding import SCHEMES, EpisodeId, Version
from ascpo.theory.cantelli import PAPER_K

Format = Literal[1, 2]
SEEDING: Version = 2
"""The rules by which certificates of format 2 draw their scenes, whatever rules the training had."""
_MOST = 2**20
"""The largest number of episodes in a plan."""
_DECIDE = ("env", "family", "cost_names", "limits", "limits_on", "actions", "episodes", "seeding")
"""What decides the episodes of a plan of format 2."""
_UNNAMED: Plain = {"seeding": 1, "limits_on": "state"}
"""What a plan of format 1 means that does not name it."""


@dataclass(frozen=True)
class CertificatePlan:
    """All that is fixed before the first episode."""

    env: str = ""
    world: str = ""
    """A fingerprint of the simulated world."""
    policy: str = ""
    """The policy's digest."""
    family: tuple[str, ...] = ()
    """Digests of all policies that are certified at once. Their bounds hold at once."""
    look: int = 1
    """This is the look of so high a number at the run. In format 1: the number of certificates it may get."""
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
            raise BadSetting(f"seeding={self.seeding!r} is no version. There are {', '.join(map(str, SCHEMES))}.")
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
        """What this look may spend of the error."""
        return spent_error(1.0 - self.confidence, self.look)

    @property
    def allowed(self) -> int:
        """The largest number of violations with which the policy is still certified."""
        return allowed_violations(self.episodes, self.probability, self.each)

    @property
    def experiment(self) -> str:
        """A checksum of what decides the episodes. Another probability, confidence or look does not change it."""
        if self.format == 1:
            free = {"probability": 0.5, "confidence": 0.5, "looks": 1, "k": 0.0, "policy": ""}
            hashed = self.plain() | free | {"family": sorted(self.family)}
        else:
            hashed = {name: to_plain(getattr(self, name)) for name in _DECIDE} | {"family": sorted(self.family)}
        return hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()

    @property
    def seed(self) -> int:
        """The seed follows from the plan. If it could be chosen, one could try seeds until one fits."""
        return SCHEMES[self.seeding].certificate_seed(int(self.experiment[:8], 16))

    @property
    def origins(self) -> list[EpisodeId]:
        """The episodes to play."""
        return SCHEMES[self.seeding].certificate(self.seed, self.episodes)

    def plain(self) -> Plain:
        """Plain data for JSON, as the format spells it."""
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
