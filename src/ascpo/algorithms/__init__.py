"""The algorithms, one file each, none importing another."""

from ascpo.algorithms.algorithm import Algorithm, Method
from ascpo.algorithms.ascpo import ASCPO
from ascpo.algorithms.cpo import CPO
from ascpo.algorithms.scpo import SCPO
from ascpo.algorithms.trpo import TRPO

ALGORITHMS: dict[str, type[Method]] = {"trpo": TRPO, "cpo": CPO, "scpo": SCPO, "ascpo": ASCPO}
"""By the name on the command line."""

__all__ = ["ALGORITHMS", "ASCPO", "CPO", "SCPO", "TRPO", "Algorithm", "Method"]
