"""Copies of an environment that step together: sequentially in this process, or each in a process of its own.

A copy that fails returns a `Fault` instead of a result, and does not affect the others.
"""

from collections.abc import Mapping
from functools import partial
from typing import Protocol

import numpy as np

from ascpo.engines.gymnasium.checked import CheckedEnv, Expected, Fault, Observation, Step, attempt
from ascpo.engines.gymnasium.naming import MakeEnv


class Copies(Protocol):
    """Copies by their numbers. Copies that a call does not name stay as they are."""

    unmade: dict[int, Fault]
    """Copies that could not be made."""

    def reset(self, seeds: Mapping[int, int]) -> dict[int, Observation | Fault]: ...

    def step(self, actions: Mapping[int, np.ndarray]) -> dict[int, Step | Fault]: ...

    def restart(self, env: int) -> Fault | None:
        """Replace a copy whose process is gone by a new one."""
        ...

    def close(self) -> dict[int, Fault]:
        """Close all of them, whatever they do."""
        ...


class SyncCopies:
    """Copies that step sequentially in this process. A crash of one ends all of them."""

    def __init__(self, make: MakeEnv, num_envs: int, expected: Expected) -> None:
        self._envs: list[CheckedEnv] = []
        self.unmade: dict[int, Fault] = {}
        for env in range(num_envs):
            made = attempt(partial(CheckedEnv, make, expected))
            if isinstance(made, Fault):
                self.unmade = {env: made}
                break
            self._envs.append(made)

    def reset(self, seeds: Mapping[int, int]) -> dict[int, Observation | Fault]:
        return {env: attempt(partial(self._envs[env].reset, seed)) for env, seed in seeds.items()}

    def step(self, actions: Mapping[int, np.ndarray]) -> dict[int, Step | Fault]:
        return {env: attempt(partial(self._envs[env].step, action)) for env, action in actions.items()}

    def restart(self, env: int) -> Fault | None:
        raise RuntimeError("Environments in this process cannot die alone, so none is restarted.")

    def close(self) -> dict[int, Fault]:
        closed = {env: attempt(one.close) for env, one in enumerate(self._envs)}
        return {env: fault for env, fault in closed.items() if isinstance(fault, Fault)}
