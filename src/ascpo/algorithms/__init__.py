"""The algorithms, one file each. None imports another.

Each file is a dataclass of settings, whose `build` imports the parts. So settings are read and checked before JAX is
imported, which takes seconds.
"""

from typing import TYPE_CHECKING

from ascpo.algorithms.ascpo import ASCPO
from ascpo.algorithms.cpo import CPO
from ascpo.algorithms.cpo_cvar import CPOCVaR
from ascpo.algorithms.method import Method
from ascpo.algorithms.pascpo import PASCPO
from ascpo.algorithms.pcpo import PCPO
from ascpo.algorithms.ppo_lagrangian import PPOLagrangian
from ascpo.algorithms.scpo import SCPO
from ascpo.algorithms.trpo import TRPO
from ascpo.algorithms.trpo_cvar import TRPOCVaR
from ascpo.algorithms.trpo_fac import TRPOFAC
from ascpo.algorithms.trpo_ipo import TRPOIPO
from ascpo.algorithms.trpo_lagrangian import TRPOLagrangian
from ascpo.algorithms.trpo_sl import TRPOSL
from ascpo.algorithms.trpo_usl import TRPOUSL

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm

ALGORITHMS: dict[str, type[Method]] = {
    "trpo": TRPO,
    "trpo-lagrangian": TRPOLagrangian,
    "trpo-sl": TRPOSL,
    "trpo-usl": TRPOUSL,
    "trpo-ipo": TRPOIPO,
    "trpo-fac": TRPOFAC,
    "cpo": CPO,
    "pcpo": PCPO,
    "scpo": SCPO,
    "trpo-cvar": TRPOCVaR,
    "cpo-cvar": CPOCVaR,
    "ascpo": ASCPO,
    "pascpo": PASCPO,
    "ppo-lagrangian": PPOLagrangian,
}
"""By the name on the command line."""

__all__ = [
    "ALGORITHMS",
    "ASCPO",
    "CPO",
    "PASCPO",
    "PCPO",
    "SCPO",
    "TRPO",
    "TRPOFAC",
    "TRPOIPO",
    "TRPOSL",
    "TRPOUSL",
    "Algorithm",
    "CPOCVaR",
    "Method",
    "PPOLagrangian",
    "TRPOCVaR",
    "TRPOLagrangian",
]


def __getattr__(name: str) -> object:
    if name == "Algorithm":
        from ascpo.algorithms.algorithm import Algorithm

        return Algorithm
    raise AttributeError(f"module 'ascpo.algorithms' has no attribute {name!r}")
