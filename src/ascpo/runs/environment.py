"""From what a person types to an engine: a suite of this package, a Gymnasium id, or a factory of their own."""

import difflib
from collections.abc import Callable
from typing import Any

import gymnasium

from ascpo.engines.gymnasium import GymnasiumEngine
from ascpo.engines.inspection import resolve
from ascpo.engines.native import NativeEngine
from ascpo.engines.rollout import Repeatable
from ascpo.environments.registration import MAX_EPISODE_STEPS
from ascpo.environments.spaces import make_task
from ascpo.guard.suites import UnknownSuite, suite

Environment = str | Callable[[], gymnasium.Env[Any, Any]]


def name_of(env: Environment) -> str:
    """The name that a run's config keeps: with it the run can go on, if it can be found again."""
    if not isinstance(env, str):
        return f"{getattr(env, '__module__', '?')}:{getattr(env, '__qualname__', type(env).__name__)}"
    short = env.removeprefix("ascpo/").removesuffix("-v0")
    try:
        return suite(short).name
    except UnknownSuite as no_suite:
        if resolve(env) is not None:
            return env
        others = [name for name in gymnasium.registry if not name.startswith("ascpo/")]
        close = difflib.get_close_matches(env, others, n=2, cutoff=0.75)
        also = f" Or the Gymnasium environment {' or '.join(close)}?" if close else ""
        raise UnknownSuite(f"{no_suite}{also}") from None


def open_engine(env: Environment, num_envs: int, *, threads: int = 0, processes: bool = False) -> Repeatable:
    """Environments side by side."""
    name = name_of(env)
    if not isinstance(env, str):
        return GymnasiumEngine(env, num_envs, processes=processes)
    try:
        task = make_task(name, "paper", "closest", MAX_EPISODE_STEPS)
    except UnknownSuite:
        return GymnasiumEngine(name, num_envs, processes=processes)
    return NativeEngine(task, num_envs, threads)


def side_by_side(env: str, episodes: int) -> int:
    """How many environments to play so many episodes in.

    A suite's are small, a user's own may be large. More would stand idle while the last episode comes to its end; fewer
    would not keep the cores busy.
    """
    try:
        suite(env)
    except UnknownSuite:
        return max(1, min(episodes // 10, 32))
    return min(episodes, 100)
