"""What an algorithm does about costs, in words and from the log alone."""

from dataclasses import dataclass
from enum import Enum

from ascpo.report.data import Run

_EPISODE, _LARGEST, _WORST = (
    "the mean cost of an episode",
    "the mean of an episode's largest cost",
    "the mean cost of the worst episodes",
)
_QUANTITIES = {
    "cpo": _EPISODE,
    "pcpo": _EPISODE,
    "scpo": _LARGEST,
    "cpo-cvar": _WORST,
    "trpo-lagrangian": _EPISODE,
    "ppo-lagrangian": _EPISODE,
    "trpo-ipo": _EPISODE,
    "trpo-fac": "costs, state by state",
    "trpo-cvar": _WORST,
    "pascpo": "a bound of an episode's largest cost",
}
"""What is kept under the limit, or paid for."""
_MODES = {
    "reference": _LARGEST,
    "paper": "mean + {k:g} · mean square of an episode's largest cost",
    "moment": "mean + {k:g} · mean square of an episode's largest cost",
    "cantelli": "what an episode's largest cost stays under with probability {p:.4g}",
    "chance": "the chance that an episode breaks a limit",
}
"""The same, of ASCPO's modes."""
_PAYS_A_FIXED_PRICE = ("trpo-ipo",)


class Way(Enum):
    """How costs come into a step."""

    CONSTRAINT = "constraint"
    PRICE = "price"
    SHIELD = "shield"
    NONE = "none"


@dataclass(frozen=True)
class Heeded:
    """Of one run."""

    way: Way
    quantity: str
    """What is kept under the limit, or paid for; empty where there is nothing."""
    projected: bool
    """Steps are natural ones, moved back to where the constraint holds."""
    iterations: int
    """Of a descent on a clipped objective; 0 for a single step."""


def heeded(run: Run) -> Heeded:
    quantity = _QUANTITIES.get(run.algo, "")
    if run.algo == "ascpo":
        quantity = _MODES.get(run.method.get("mode", "chance"), "").format(k=run.k, p=run.probability)
    ppo = run.method.get("ppo") or {}
    return Heeded(
        way=_way(run),
        quantity=quantity or "the constraint's surrogate",
        projected=run.algo == "pcpo",
        iterations=int((ppo.get("descent") or {}).get("iterations", 80)) if "ppo" in run.method else 0,
    )


def _way(run: Run) -> Way:
    if any(run.column("Nu", name) is not None for name in run.constraints):
        return Way.CONSTRAINT
    if "Multiplier" in run.metrics or run.algo in _PAYS_A_FIXED_PRICE:
        return Way.PRICE
    return Way.SHIELD if "ShieldRate" in run.metrics else Way.NONE
