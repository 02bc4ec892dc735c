"""Recovery from a process that died: an error, or a new process and an episode that counts as violated."""

import contextlib
import logging
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from ascpo.engines.contract import over_every_limit
from ascpo.engines.gymnasium.checked import Fault, Observation, Step

MOST_RESTARTS = 10
"""Restarts of each copy. One that dies more often has a fault that restarts do not solve."""
_log = logging.getLogger(__name__)


class Recovery:
    """Decides which copies are replaced, and computes the last step of an episode whose process died."""

    def __init__(self, limits: tuple[float, ...] | None, num_envs: int) -> None:
        self._limits = limits
        """None: no copy is replaced."""
        self._restarts = [0] * num_envs
        self._refused = False

    @contextlib.contextmanager
    def refused(self) -> Iterator[None]:
        """No restarts in this context: episodes that are repeated must not count as violated."""
        self._refused = True
        try:
            yield
        finally:
            self._refused = False

    def may_restart(self, env: int, fault: Fault, where: str) -> bool:
        """Whether a copy is replaced. A restart is logged."""
        if self._limits is None or self._refused or not fault.dead or self._restarts[env] >= MOST_RESTARTS:
            return False
        self._restarts[env] += 1
        count = f"restart {self._restarts[env]} of at most {MOST_RESTARTS}"
        _log.warning("%s: %s It is restarted (%s), and its episode counts as violated.", where, fault.sentence, count)
        return True

    def violation(self, observation: Observation, sums: Float[np.ndarray, " m"]) -> Step:
        """The last step of an episode that was lost."""
        assert self._limits is not None
        limits = np.resize(np.array(self._limits, np.float32), sums.shape)
        costs = over_every_limit(limits, sums).astype(np.float32)
        return Step(observation.copy(), 0.0, costs, terminated=True, truncated=False, margins=costs)
