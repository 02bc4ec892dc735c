"""Settings of the engines. They are read without JAX."""

from dataclasses import dataclass, fields
from typing import Annotated

from ascpo.errors import InertSetting
from ascpo.ranges import Range

STEP_TIMEOUT = 60.0
"""Seconds that a step may take."""


@dataclass(frozen=True)
class ReplaySettings:
    """Which scenes a training plays again."""

    share: Annotated[float, Range(at_least=0.0, at_most=0.9)] = 0.0
    """Share of the episodes that play a scene again in which a fresh episode violated a limit. Costs learn from them
    with weights; all that is measured comes from fresh scenes. 0 plays fresh scenes alone."""
    pool: Annotated[int, Range(at_least=1, at_most=2**16)] = 64
    """Number of violating scenes that are kept, the latest ones."""

    def __post_init__(self) -> None:
        if not self.share and self.pool != fields(self)[1].default:
            raise InertSetting("replay.pool", self.pool, "no scene is played again while replay.share is 0")


NO_REPLAY = ReplaySettings()
