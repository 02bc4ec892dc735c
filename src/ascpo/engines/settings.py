"""Settings of the engines. This module does not import JAX."""

from dataclasses import dataclass
from typing import Annotated

from ascpo.errors import InertSetting
from ascpo.ranges import Range

STEP_TIMEOUT = 60.0
"""Default timeout of a step, in seconds."""


@dataclass(frozen=True)
class ReplaySettings:
    """Which scenes a training replays."""

    share: Annotated[float, Range(at_least=0.0, at_most=0.9)] = 0.0
    """Share of the episodes that replay a scene in which a fresh episode violated a limit. Costs are learned from them
    with weights. Measurements come from fresh scenes only. 0 replays nothing."""
    pool: Annotated[int, Range(at_least=1, at_most=2**16)] = 64
    """Number of violating scenes that are kept. New ones replace the oldest."""

    def __post_init__(self) -> None:
        if not self.share and self.pool != ReplaySettings.pool:
            raise InertSetting("replay.pool", self.pool, "no scene is replayed while replay.share is 0")


NO_REPLAY = ReplaySettings()
