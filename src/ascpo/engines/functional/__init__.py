"""The functional engine, for environments that are JAX functions. A rollout is one compiled scan."""

from ascpo.engines.functional.engine import FunctionalEngine
from ascpo.engines.functional.world import Transition, World

__all__ = ["FunctionalEngine", "Transition", "World"]
