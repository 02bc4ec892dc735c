"""One copy of an environment. Everything that it returns is checked and converted to plain arrays.

Wrong values and exceptions become a `Fault`, in this process or in a process of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from gymnasium.spaces import Box
from jaxtyping import Bool, Float

from ascpo.engines.gymnasium.errors import FAILURES, Faulty, described
from ascpo.engines.gymnasium.naming import AnyEnv, MakeEnv
from ascpo.engines.gymnasium.trial import (
    Info,
    amount,
    costs_of,
    decided,
    in_space,
    margins_of,
    not_five,
    short,
    wrong_number_of_values,
)

T = TypeVar("T")
_LARGE = 1e38
"""Numbers below it stay finite as 32-bit floats."""
Observation: TypeAlias = Float[np.ndarray, " obs"]
"""Raw and flat."""


@dataclass(frozen=True)
class Fault:
    """An error of one copy."""

    sentence: str
    cause: BaseException | None = None
    """The exception that the environment's code raised, if it did."""
    dead: bool = False
    """Whether its process has died, and with it the episode."""


class Step(NamedTuple):
    """The result of a step of one copy."""

    observation: Observation
    reward: float
    costs: Float[np.ndarray, " m"]
    terminated: bool
    truncated: bool
    margins: Float[np.ndarray, " m"] | None = None
    """Margins, negative if the state is safe. None if the environment gives none."""


@dataclass(frozen=True)
class Moved:
    """The result of a step of all environments, before any reset."""

    observation: Float[np.ndarray, "env obs"]
    """Raw."""
    reward: Float[np.ndarray, " env"]
    costs: Float[np.ndarray, "env m"]
    margins: Float[np.ndarray, "env m"] | None
    terminated: Bool[np.ndarray, " env"]
    truncated: Bool[np.ndarray, " env"]

    @property
    def done(self) -> Bool[np.ndarray, " env"]:
        return self.terminated | self.truncated

    @property
    def of_costs(self) -> tuple[Float[np.ndarray, "env m"], Float[np.ndarray, "env m"] | None]:
        return self.costs, self.margins

    @staticmethod
    def of(steps: Sequence[Step], has_margins: bool) -> "Moved":
        return Moved(
            observation=np.array([step.observation for step in steps]),
            reward=np.array([step.reward for step in steps], np.float32),
            costs=np.array([step.costs for step in steps]),
            margins=np.array([step.margins for step in steps], np.float32) if has_margins else None,
            terminated=np.array([step.terminated for step in steps]),
            truncated=np.array([step.truncated for step in steps]),
        )


@dataclass(frozen=True)
class Expected:
    """The properties that every copy must have."""

    observations: Box
    actions: Box
    costs: int
    margins: bool = False
    """Whether every step has margins."""
    max_steps: int | None = None
    """Episodes are truncated after this many steps."""


class CheckedEnv:
    """A copy. Its methods raise no other exceptions than `Faulty`, and Ctrl-C."""

    def __init__(self, make: MakeEnv, expected: Expected) -> None:
        self._expected, self._steps = expected, 0
        space = expected.observations
        self._usual = (space.shape, space.dtype) if space.dtype == np.float32 else None
        """Shape and type of the observations in the usual case, which needs no further checks."""
        self._env: AnyEnv = _call(make, "Making it")
        for name, wanted in (("observation_space", expected.observations), ("action_space", expected.actions)):
            if (found := getattr(self._env, name, None)) != wanted:
                said = f"Its {name} is {short(found)}, and another copy's was {short(wanted)}"
                raise Faulty(f"{said}. Make copies that are all alike.")

    def reset(self, seed: int) -> Observation:
        self._steps = 0
        result: object = _call(lambda: self._env.reset(seed=seed, options={}), "reset")
        if not isinstance(result, tuple) or len(result) != 2:
            raise Faulty(f"reset returns {amount(result)}. Return (observation, info).")
        return self._observed(result[0], "reset")

    def step(self, action: np.ndarray) -> Step:
        self._steps += 1
        result: object = _call(lambda: self._env.step(action), "step")
        if not isinstance(result, tuple) or len(result) != 5:
            raise Faulty(not_five(amount(result), more=isinstance(result, tuple) and len(result) > 5))
        observation, reward, terminated, truncated, info = result
        if not isinstance(info, dict):
            raise Faulty(f"The info of a step is a {type(info).__name__}. Return a dict, with the cost in it.")
        late = self._expected.max_steps is not None and self._steps >= self._expected.max_steps
        try:
            return Step(
                observation=self._observed(observation, "step"),
                reward=_rewarded(reward),
                costs=self._paid(info),
                margins=margins_of(info, self._expected.costs) if self._expected.margins else None,
                terminated=decided(terminated, "terminated"),
                truncated=decided(truncated, "truncated") or late,
            )
        except ValueError as error:
            raise Faulty(str(error)) from None

    def close(self) -> None:
        _call(self._env.close, "close")

    def _observed(self, observation: object, source: str) -> Observation:
        if isinstance(observation, np.ndarray) and (observation.shape, observation.dtype) == self._usual:
            flat = np.array(observation, np.float32).reshape(-1)
            _refuse_infinite(flat, "The observation")
            return flat
        space = self._expected.observations
        try:
            given = in_space(observation, space, source)
        except ValueError as error:
            raise Faulty(str(error)) from None
        with np.errstate(over="ignore"):
            flat = given.astype(space.dtype).reshape(-1).astype(np.float32)
        _refuse_infinite(flat, "The observation")
        return flat

    def _paid(self, info: Info) -> Float[np.ndarray, " m"]:
        found = costs_of(info)
        if len(found) != (m := self._expected.costs):
            raise Faulty(f"There are {len(found)} costs, where there were {m} before. Give all of them.")
        return found


def attempt(work: Callable[[], T]) -> T | Fault:
    """The result of some work, or the fault that it raises."""
    try:
        return work()
    except Faulty as faulty:
        return Fault(str(faulty), faulty.__cause__)


def _call(work: Callable[[], T], name: str) -> T:
    """Run code of the environment."""
    try:
        return work()
    except FAILURES as error:
        sentence = wrong_number_of_values(error) if name == "step" else ""
        raise Faulty(sentence or f"{name} raises {described(error)}.") from error


def _rewarded(reward: object) -> float:
    if isinstance(reward, float) and abs(reward) < _LARGE:
        return reward
    try:
        given = np.asarray(reward, np.float64)
    except (TypeError, ValueError):
        given = np.zeros(1)
    if given.ndim:
        raise Faulty(f"The reward is {short(reward)}. Return a finite number.")
    with np.errstate(over="ignore"):
        _refuse_infinite(given.reshape(1).astype(np.float32), "The reward")
    return float(given)


def _refuse_infinite(values: Float[np.ndarray, " n"], what: str) -> None:
    if np.isfinite(values).all():
        return
    entry = int(np.flatnonzero(~np.isfinite(values))[0])
    found = f"{what} (entry {entry})" if len(values) > 1 else what
    raise Faulty(f"{found} is {values[entry]}. Reset it with this seed, and look for the cause.")
