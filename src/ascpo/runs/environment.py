"""From what a person types to an engine: a suite of this package, a Gymnasium id, or a factory of their own."""

import difflib
import importlib.util
from collections.abc import Callable
from typing import Any

import gymnasium

from ascpo.engines.gymnasium import GymnasiumEngine
from ascpo.engines.inspection import resolve
from ascpo.engines.native import NativeEngine
from ascpo.engines.rollout import Repeatable, Shared
from ascpo.environments.registration import MAX_EPISODE_STEPS
from ascpo.environments.spaces import make_task
from ascpo.guard.suites import UnknownSuite, suite
from ascpo.guard.task import Task
from ascpo.runs.config import EngineName
from ascpo.runs.serialization import BadSetting

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


def engine_name(wanted: str, env: Environment) -> EngineName:
    """As a config keeps it: `mjx` is the implementation that suits the suite and the machine."""
    if wanted != "mjx":
        return wanted  # pyright: ignore[reportReturnType] (a config says what is wrong with it)
    task = _task(env)
    from ascpo.engines.mjx.physics import best_implementation

    return "mjx-warp" if best_implementation(task) == "warp" else "mjx-jax"


def _task(env: Environment) -> Task:
    """Of a suite that MJX is to move."""
    if importlib.util.find_spec("mujoco.mjx") is None:
        raise BadSetting("MJX is not installed: pip install 'ascpo[gpu]'. Or use --engine native.")
    try:
        return make_task(name_of(env), "paper", "closest", MAX_EPISODE_STEPS)
    except UnknownSuite:
        raise BadSetting(f"{name_of(env)} is no suite: MJX moves these alone. Use --engine native.") from None


def open_mjx(env: Environment, num_envs: int, engine: EngineName, devices: int = 1) -> Shared:
    """A suite's environments on an accelerator."""
    task = _task(env)
    import jax

    from ascpo.engines.mjx.engine import MjxEngine

    found = jax.devices()
    if devices > len(found):
        raise BadSetting(f"devices={devices}: there are {len(found)} ({found[0].platform}).")
    return MjxEngine(task, num_envs, "warp" if engine == "mjx-warp" else "jax", found[: devices or None])


def open_engine(env: Environment, num_envs: int, *, threads: int = 0, processes: bool = False) -> Repeatable:
    """Environments side by side, on the host."""
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
