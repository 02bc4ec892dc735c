"""The inspection of a `gymnasium.Env` before a training: a few steps show all of its faults at once."""

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from jaxtyping import Float

from ascpo.engines.gymnasium.errors import FAILURES, Unsuitable, described
from ascpo.engines.gymnasium.naming import AnyEnv, MakeEnv
from ascpo.engines.gymnasium.trial import Trial, short
from ascpo.engines.inspection import Inspection

T = TypeVar("T")
ENDLESS = (
    "No time limit was found, so episodes may never end. Use --max-episode-steps 1000, gymnasium.make(..., "
    "max_episode_steps=1000) or gymnasium.wrappers.TimeLimit(env, 1000)."
)
_OF_A_WORLD = ("observation_size", "action_size", "cost_names", "begin", "observe", "step")
_HUGE = 1e30
"""Larger bounds count as infinite: some spaces use the largest float for infinity."""


@dataclass(frozen=True)
class EnvInspection(Inspection):
    """The result of the inspection of a `gymnasium.Env`."""

    spaces: tuple[Box, Box]
    """The observation space and the action space."""


def made_by(make: Callable[[], object]) -> object:
    """The object that a factory makes: an environment, a world, or something else."""
    return _run("Making it", make)


def inspect(make: MakeEnv) -> EnvInspection:
    """Make an environment, try it out, and close it. Raises `Unsuitable` with all of its faults."""
    env = made_by(make)
    if not isinstance(env, gymnasium.Env):
        raise Unsuitable(_not_an_environment(env))
    try:
        found = _run("Trying it out", lambda: _inspect(env))
    except BaseException:
        # The first error counts, even if the environment does not close either.
        with contextlib.suppress(*FAILURES):
            env.close()
        raise
    _run("close", env.close)
    return found


def _run(name: str, work: Callable[[], T]) -> T:
    """Run code of the environment."""
    try:
        return work()
    except Unsuitable:
        raise
    except FAILURES as error:
        raise Unsuitable(f"{name} raises {described(error)}.") from error


def _inspect(env: AnyEnv) -> EnvInspection:
    faults, tried = _faults_of_spaces(env), Trial(env)
    if isinstance(getattr(env, "action_space", None), gymnasium.Space):
        tried.run()
    if faults := faults + tried.faults:
        raise Unsuitable(*dict.fromkeys(faults)) from tried.cause
    observations, actions = env.observation_space, env.action_space
    assert isinstance(observations, Box)  # Others are among the faults.
    assert isinstance(actions, Box)
    low, high = bounds(actions)
    names, notes = _cost_names(env, tried.m)
    limit = _time_limit(env)
    endless = [ENDLESS] if limit is None and not tried.truncated else []
    return EnvInspection(
        observation_size=int(np.prod(observations.shape)),
        action_size=low.size,
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        cost_names=names,
        has_margins=tried.has_margins,
        notes=(*_notes_of_actions(actions), *notes, *tried.notes(), *endless),
        time_limit=limit,
        spaces=(observations, actions),
    )


def bounds(space: gymnasium.Space) -> tuple[Float[np.ndarray, " act"], Float[np.ndarray, " act"]]:
    """The bounds of a Box, flat. Values that mean "no bound" become infinite."""
    assert isinstance(space, Box)
    low, high = space.low.ravel().astype(np.float32), space.high.ravel().astype(np.float32)
    below, above = space.bounded_below.ravel() & (low > -_HUGE), space.bounded_above.ravel() & (high < _HUGE)
    return np.where(below, low, -np.inf).astype(np.float32), np.where(above, high, np.inf).astype(np.float32)


def _not_an_environment(made: object) -> str:
    # It imports JAX, which the process of an environment does without: a second and 100 MB for each of them.
    from ascpo.engines.functional.world import World

    if isinstance(made, gymnasium.vector.VectorEnv):
        return "This makes many environments at once. Make a single one; --num-envs sets how many are used."
    if isinstance(made, World):
        return "This makes a world of JAX functions, which runs as one program. Leave --processes out."
    kind = f"{type(made).__module__}.{type(made).__qualname__}"
    if hasattr(made, "begin"):
        missing = [name for name in _OF_A_WORLD if not hasattr(made, name)]
        return f"This makes a {kind}, which is not a world of JAX functions yet: it has no {', '.join(missing)}."
    return (
        f"This makes a {kind}, which is not a gymnasium.Env. Derive it from "
        f"gymnasium.Env; reset returns (observation, info), step (observation, reward, terminated, truncated, info)."
    )


def _faults_of_spaces(env: AnyEnv) -> list[str]:
    actions, observations = getattr(env, "action_space", None), getattr(env, "observation_space", None)
    faults = [
        f"The {name} space is empty. Give it at least one number."
        for name, space in (("action", actions), ("observation", observations))
        if isinstance(space, Box) and not np.prod(space.shape)
    ]
    if not isinstance(actions, Box):
        faults.append(
            f"The actions are {actions}; the policies here draw from a Box, such as gymnasium.spaces.Box(-1.0, 1.0, "
            f"(2,)). Let a gymnasium.ActionWrapper turn numbers into your actions, or choose another environment."
        )
    if not isinstance(observations, Box):
        faults.append(
            f"The observations are {short(observations)}; a Box is needed. Wrap the environment: "
            f"gymnasium.wrappers.FlattenObservation(env) turns Dict, Tuple and Discrete spaces into one."
        )
    return faults


def _notes_of_actions(space: gymnasium.Space) -> list[str]:
    found = []
    if not np.isfinite(bounds(space)).all():
        there = "actions are passed on as the policy draws them, which is about -1 to 1 at first"
        found.append(f"Some bounds of the action space are infinite: there, {there}. Give finite bounds to scale them.")
    if np.issubdtype(space.dtype, np.integer):
        found.append("The actions are integers: the policy's actions are rounded.")
    return found


def _time_limit(env: AnyEnv) -> int | None:
    """The time limit of the environment and its wrappers, if they have one."""
    layer, found = env, [env.spec.max_episode_steps if env.spec is not None else None]
    while isinstance(layer, gymnasium.Wrapper):
        if isinstance(layer, gymnasium.wrappers.TimeLimit):
            found.append(layer._max_episode_steps)  # It has no other name.
        layer = layer.env
    return min((steps for steps in found if steps is not None), default=None)


def _cost_names(env: AnyEnv, m: int | None) -> tuple[tuple[str, ...], list[str]]:
    """The names of the constraints, and a note if the environment's own names cannot be used."""
    if m is None:
        return ("cost",), []
    numbered = tuple(f"cost_{i}" for i in range(m))
    try:
        names = tuple(given := env.get_wrapper_attr("cost_names"))
    except (AttributeError, TypeError):
        return numbered, []
    plain = all(isinstance(name, str) and re.fullmatch(r"\w[\w.+-]*", name) for name in names)
    if plain and len(names) == len(set(names)) == m:
        return names, []
    wrong = f"cost_names is {short(given)}, which does not name {m} costs by {m} different plain words"
    return numbered, [f"{wrong}. They are called {', '.join(numbered)} instead."]
