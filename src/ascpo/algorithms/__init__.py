"""The algorithms, one file each, none importing another."""

from ascpo.algorithms.algorithm import Algorithm, Method
from ascpo.algorithms.ascpo import ASCPO
from ascpo.algorithms.cpo import CPO
from ascpo.algorithms.cpo_cvar import CPOCVaR
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
