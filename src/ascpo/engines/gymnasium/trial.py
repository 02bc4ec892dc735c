"""A trial of an environment: a few steps, twice from the same seed, that show its faults."""

import contextlib

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from jaxtyping import Float

from ascpo.engines.gymnasium.errors import FAILURES, described
from ascpo.engines.gymnasium.naming import AnyEnv, Info

_SEED = 7
_STEPS = 50
_LEAST = np.finfo(np.float32).tiny
"""Programs on a processor or a GPU count smaller numbers as zero."""
FAR = 1e6
"""Larger margins, also infinite ones, are clipped to this."""
NEGATIVE = "A cost was negative. For the largest cost of an episode, costs below zero count as zero."
_FIVE = "Return (observation, reward, terminated, truncated, info)"
_OLD_GYM = "; the four values of the old gym had a single done for the two ways to end"
_SAFETY_GYMNASIUM = ", with the cost in info['cost']; the six values of Safety-Gymnasium have it in the third place"


def not_five(what: str, *, more: bool) -> str:
    """The sentence about a step that returns less or more than five values."""
    return f"step does not return five values but {what}. {_FIVE}{_SAFETY_GYMNASIUM if more else _OLD_GYM}."


def amount(result: object) -> str:
    return f"{len(result)} values" if isinstance(result, tuple) else f"a {type(result).__name__}"


class Trial:
    """The same few steps twice. The trial ends at the first step with a fault."""

    def __init__(self, env: AnyEnv) -> None:
        self._env = env
        self._box = isinstance(getattr(env, "observation_space", None), Box)
        self._seen: list[list[np.ndarray]] = [[], []]
        self.faults: list[str] = []
        self.cause: BaseException | None = None
        """The exception that the environment raised, if it did."""
        self.truncated = False
        self.m: int | None = None
        """The length of `costs`. None for a single `cost`."""
        self.has_margins = False
        self._negative = False

    def run(self) -> None:
        self._env.action_space.seed(_SEED)
        actions = [self._env.action_space.sample() for _ in range(_STEPS)]
        for seen in self._seen:
            if not self._reset(seen, _SEED):
                return
            for i, action in enumerate(actions):
                ended = self._step(seen, action, first=seen is self._seen[0] and i == 0)
                if self.faults or (ended and not self._reset(seen, _SEED + i)):
                    return

    def notes(self) -> list[str]:
        found, so = [], "so runs will not be reproducible and cannot be resumed exactly"
        if self._negative:
            found.append(NEGATIVE)
        first, again = self._seen
        if not np.array_equal(first[0], again[0]):
            remedy = "Begin reset with super().reset(seed=seed), and draw only from self.np_random."
            found.append(f"reset(seed=...) gives another observation each time, {so}. {remedy}")
        elif not all(map(np.array_equal, first, again)):
            remedy = "Reset the whole state in reset, and draw only from self.np_random."
            found.append(f"The same actions after the same seed give other observations, {so}. {remedy}")
        return found

    def _reset(self, seen: list[np.ndarray], seed: int) -> bool:
        """Reset the environment. Returns whether the trial can continue."""
        try:
            # As the vector environments call it.
            result: object = self._env.reset(seed=seed, options={})
        except FAILURES as error:
            old = isinstance(error, TypeError) and "unexpected keyword argument" in str(error)
            write = "reset takes no seed and options. Write def reset(self, *, seed=None, options=None)."
            return self._fault(write if old else f"reset raises {described(error)}.", error)
        if not isinstance(result, tuple) or len(result) != 2:
            return self._fault("reset does not return two values. Return (observation, info).")
        self._look(seen, result[0], "reset")
        return True

    def _fault(self, sentence: str, cause: BaseException | None = None) -> bool:
        """Add a fault. Returns False, since the trial cannot continue."""
        self.faults.append(sentence)
        self.cause = cause or self.cause
        return False

    def _step(self, seen: list[np.ndarray], action: object, *, first: bool) -> bool:
        """Take a step. Returns whether the episode is over."""
        try:
            result: object = self._env.step(action)
        except FAILURES as error:
            return self._fault(wrong_number_of_values(error) or f"step raises {described(error)}.", error)
        if not isinstance(result, tuple) or len(result) != 5:
            return self._fault(not_five(amount(result), more=isinstance(result, tuple) and len(result) > 5))
        observation, reward, terminated, truncated, info = result
        self._look(seen, observation, "step")
        if np.asarray(reward).ndim or not _finite(reward):
            self.faults.append(f"A reward is {short(reward)}. Return a finite number.")
        else:
            seen.append(np.asarray(reward))
        self._pay(seen, info, first=first)
        try:
            ends = decided(terminated, "terminated"), decided(truncated, "truncated")
        except ValueError as error:
            return self._fault(str(error))
        self.truncated |= ends[1]
        return any(ends)

    def _look(self, seen: list[np.ndarray], observation: object, source: str) -> None:
        if not self._box:
            return
        try:
            given = in_space(observation, self._env.observation_space, source)
        except ValueError as error:
            self.faults.append(str(error))
            return
        if not _finite(given):
            self.faults.append(f"{source} returns an observation that holds NaN or infinity. Return finite numbers.")
        else:
            seen.append(given.copy())

    def _pay(self, seen: list[np.ndarray], info: object, *, first: bool) -> None:
        try:
            if not isinstance(info, dict):
                raise ValueError(f"The info of a step is a {type(info).__name__}. Return a dict, with the cost in it.")
            costs = costs_of(info)
            if first:
                self.has_margins = "margins" in info
            if self.has_margins:
                seen.append(margins_of(info, len(costs)))
        except ValueError as error:
            self.faults.append(str(error))
            return
        m = len(costs) if "costs" in info else None
        if first:
            self.m = m
        elif m != self.m:
            found = f"{_entries(self.m)} in one step and {_entries(m)} in another"
            self.faults.append(f"{found}. Give the same costs in every step, 0 where nothing is wrong.")
        self._negative |= bool((costs < 0).any())
        seen.append(costs)


def _entries(m: int | None) -> str:
    return 'info["cost"]' if m is None else f'{m} entries of info["costs"]'


def _finite(number: object) -> bool:
    # In single precision, as for learning: a double may be too large.
    with contextlib.suppress(TypeError, ValueError), np.errstate(over="ignore"):
        return bool(np.isfinite(np.asarray(number, np.float32)).all())
    return False


def in_space(observation: object, space: gymnasium.Space, source: str) -> np.ndarray:
    """The observation as an array. A ValueError says why it does not fit the observation space."""
    try:
        given = np.asarray(observation)
    except FAILURES:
        given = np.asarray(None)
    if given.shape == space.shape and np.can_cast(given.dtype, space.dtype or float, "same_kind"):
        return given
    found = f"{source} returns an observation of shape {given.shape} and type {given.dtype}"
    if given.dtype == object:
        found = f"{source} returns {short(observation)} for an observation, which is not an array of numbers"
    raise ValueError(f"{found}; the observation space says {space.shape} and {space.dtype}. Make them agree.")


def costs_of(info: Info) -> Float[np.ndarray, " m"]:
    """The costs of one step: `costs`, a vector, or else `cost`, a number. A ValueError says what is wrong with them.

    They are 32-bit floats, as for learning. A positive cost never becomes zero, which would be safe.
    """
    if "costs" not in info and "cost" not in info:
        raise ValueError(
            'The info of a step has no cost. Add a line to step, such as info["cost"] = max(0.0, speed - 2.0), or a '
            'vector info["costs"] with an entry for each constraint; to an environment of someone else, add it in a '
            "gymnasium.Wrapper (docs/your-own-environment.md)."
        )
    key, axes = ("costs", 1) if "costs" in info else ("cost", 0)
    try:
        costs = np.asarray(info[key], np.float64)
    except (TypeError, ValueError):
        costs = np.array(np.nan)
    with np.errstate(over="ignore", under="ignore"):
        single = costs.astype(np.float32)
    if not np.isfinite(single).all():
        found = f'info["{key}"] is {short(info[key])}'
        raise ValueError(f"{found}. Costs are finite numbers below 3.4e38, 0 where nothing is wrong.")
    if costs.ndim != axes or not costs.size:
        give = 'a single number as info["cost"], or one number for each constraint as a vector info["costs"]'
        raise ValueError(f'info["{key}"] has the shape {costs.shape}. Give {give}.')
    return np.where((costs > 0) & (single < _LEAST), _LEAST, single).reshape(-1)


def margins_of(info: Info, m: int) -> Float[np.ndarray, " m"]:
    """The margins of one step, one for each of m costs. A ValueError says what is wrong with them."""
    if "margins" not in info:
        raise ValueError('The info of a step has no margins, and another one had. Give info["margins"] in every step.')
    try:
        with np.errstate(over="ignore"):
            margins = np.asarray(info["margins"], np.float32)
    except (TypeError, ValueError):
        margins = np.array(np.nan)
    if np.isnan(margins).any() or margins.reshape(-1).shape != (m,):
        raise ValueError(
            f'info["margins"] is {short(info["margins"])}. Give a number for each of the {m} costs: how far the state '
            f"is beyond the border where the cost begins, negative where it is safe."
        )
    return np.maximum(margins.reshape(-1), -FAR)


def decided(end: object, name: str) -> bool:
    """Whether an episode is over. Text, None or NaN would be one or the other by accident: a ValueError says so."""
    if end is True or end is False:
        return end
    given = np.asarray(end) if isinstance(end, bool | int | np.generic | np.ndarray) else np.asarray(None)
    if given.ndim or given.dtype.kind not in "biu" or given not in (0, 1):
        raise ValueError(f"{name} is {short(end)}. Return True or False.")
    return bool(given)


def wrong_number_of_values(error: BaseException) -> str:
    """The sentence about a wrapper that could not unpack the values of a step; "" about any other error."""
    text = str(error) if isinstance(error, ValueError) else ""
    if text.startswith("too many values to unpack (expected 5"):
        return not_five("more", more=True)
    return not_five("fewer", more=False) if text.startswith("not enough values to unpack (expected 5") else ""


def short(value: object) -> str:
    text = str(value) if isinstance(value, gymnasium.Space) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
