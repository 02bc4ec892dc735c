"""The figures that the paper prints: nineteen suites, twelve algorithms, after six million steps, two seeds each."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

STEPS = 6_000_000
"""The steps of one training."""


@dataclass(frozen=True)
class Measure:
    """A measure by which algorithms are compared."""

    name: str
    description: str
    column: str = ""
    """Its column in metrics.csv, if it is logged there."""
    floor: float = 0.0
    """Ratios replace smaller values by this one, so that they stay finite."""
    scale: float = 1.0
    """The factor by which tables multiply it."""
    higher_is_better: bool = False
    complement: bool = False
    """Whether it is 1 − the value of the column."""
    digits: str = ".4f"
    """Its format in tables."""

    @property
    def key(self) -> str:
        """Its name in the tables for other programs."""
        return self.name.replace("ρ", "rho")

    def of_log(self, log: Mapping[str, np.ndarray]) -> np.ndarray:
        """Its values by epoch. Empty where they were not logged."""
        values = log.get(self.column, np.zeros(0))
        return 1.0 - values if self.complement else values

    def logs(self, x: ArrayLike) -> np.ndarray:
        """Logarithms, for ratios."""
        return np.log(np.maximum(x, self.floor))

    def worst(self, x: np.ndarray) -> float:
        return float(x.min() if self.higher_is_better else x.max())

    @property
    def title(self) -> str:
        return self.name if self.scale == 1.0 else f"10⁴{self.name}"


# One epoch has some 350 episodes: a single one with a cost of a third makes a mean of 0.001. Rates were printed with
# four digits, so that 0 means less than 0.00005. A return of 0.1 is what a robot has that hardly moves.
J_R = Measure("J_r", "return of an episode", "EpRet", floor=0.1, higher_is_better=True, digits=".3f")
M_C = Measure("M_c", "cost of an episode", "EpCost", floor=0.001)
RHO_C = Measure("ρ_c", "cost per step since the start", "CostRate", floor=0.00005, scale=1e4, digits=".1f")
MEASURES = (J_R, M_C, RHO_C)
"""What the paper prints."""
VIOLATIONS = Measure("violations", "share of the episodes that violate a limit", "SafeRate", complement=True)
TIMEOUTS = Measure("timeouts", "share of the episodes that the time limit ends", "TimeoutRate")
LOGGED = (*MEASURES, VIOLATIONS, TIMEOUTS)
"""What every run logs. ρ_c is a mean since the start; the others are means over the episodes of an epoch."""

FLOORS = "Ratios take " + ", ".join(f"{m.title} as at least {m.scale * m.floor:g}" for m in MEASURES) + "."

COPIES = ("Arm3-8-Hazard", "Humanoid-8-Hazard")
"""Their printed tables share nine complete rows and most of the rest: at least one is a copy of the other."""
COPIES_NOTE = f"the printed tables of {' and '.join(COPIES)} are nearly the same numbers, so no claim rests on them"

FAILED_SEEDS = {("Point-1-Hazard", "scpo"), ("Point-1-Ghost", "scpo"), ("Drone-8-3DHazard", "pcpo")}
"""The printed J_r looks like the mean of a good seed and of one that failed."""


class Figures(NamedTuple):
    """J_r, M_c and ρ_c of one algorithm on one suite."""

    J_r: float
    M_c: float
    rho_c: float

    def of(self, measure: Measure) -> float:
        return self[MEASURES.index(measure)]


@cache
def printed() -> Mapping[tuple[str, str], Figures]:
    """By suite and algorithm."""
    text = (files("ascpo.paper") / "printed.csv").read_text(encoding="utf-8")
    return {
        (row["suite"], row["algorithm"]): Figures(
            float(row["J_r"]), float(row["M_c"]), float(row["rho_c_e4"]) / RHO_C.scale
        )
        for row in csv.DictReader(text.splitlines())
    }


def printed_value(suite: str, algorithm: str, measure: Measure) -> float | None:
    """One printed number, or None where there is none."""
    found = printed().get((suite, algorithm))
    return None if found is None else found.of(measure)
