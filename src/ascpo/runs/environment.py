"""From an environment's name to an engine: a suite of this package, a Gymnasium id, or your own factory."""

import importlib.util
from typing import TYPE_CHECKING

from ascpo.environments.registration import MAX_EPISODE_STEPS
from ascpo.errors import to_install
from ascpo.runs.config import EngineName
from ascpo.runs.environment_name import Environment, is_suite, name_of
from ascpo.runs.hosting import PLAIN, Hosting
from ascpo.runs.serialization import BadSetting

if TYPE_CHECKING:
    from ascpo.engines.contract import Engine, EpisodePlayer
    from ascpo.guard.task import Task


def engine_name(wanted: str, env: Environment) -> EngineName:
    """The name of the engine in a config. `mjx` becomes the implementation that suits the suite and the machine."""
    if wanted != "mjx":
        return wanted  # pyrefly: ignore[bad-return] (Config refuses other names)
    task = _task(env)
    from ascpo.engines.mjx.physics import best_implementation

    return "mjx-warp" if best_implementation(task) == "warp" else "mjx-jax"


def _task(env: Environment) -> "Task":
    """The task of a suite that MJX simulates."""
    if not is_suite(env):
        raise BadSetting(f"{name_of(env)} is not a suite, and MJX simulates suites only. Use --engine native.")
    if importlib.util.find_spec("mujoco.mjx") is None:
        raise BadSetting(f"MJX is not installed: {to_install('gpu')}. Or use --engine native.")
    from ascpo.environments.spaces import make_task

    return make_task(name_of(env), "paper", "closest", MAX_EPISODE_STEPS)


def open_mjx(env: Environment, num_envs: int, engine: EngineName, devices: int = 1) -> "Engine":
    """A suite's environments on an accelerator."""
    task = _task(env)
    import jax

    from ascpo.engines.mjx.engine import MjxEngine

    found = jax.devices()
    if devices > len(found):
        raise BadSetting(f"devices={devices}: this machine has {len(found)} ({found[0].platform}).")
    return MjxEngine(task, num_envs, "warp" if engine == "mjx-warp" else "jax", found[: devices or None])


def open_engine(
    env: Environment,
    num_envs: int,
    *,
    threads: int = 0,
    hosting: Hosting = PLAIN,
    limits: tuple[float, ...] = (0.0,),
    max_episode_steps: int | None = None,
) -> "EpisodePlayer":
    """Environments on the host. Options that the engine does not have raise an error.

    An episode whose process dies and is restarted exceeds the limits.
    """
    check_host_options(env, threads, hosting, max_episode_steps)
    if not is_suite(env):
        return _open_own(env, num_envs, hosting, limits, max_episode_steps)
    from ascpo.engines.native.engine import NativeEngine
    from ascpo.environments.spaces import make_task

    return NativeEngine(make_task(name_of(env), "paper", "closest", MAX_EPISODE_STEPS), num_envs, threads)


def check_host_options(
    env: Environment, threads: int = 0, hosting: Hosting = PLAIN, max_episode_steps: int | None = None
) -> None:
    """Refuse options that do nothing for this environment on the host, and what is not an environment."""
    name = name_of(env)
    if not is_suite(env):
        if threads:
            raise BadSetting(
                f"threads={threads} has no effect on your own environments, which run one after the other. Leave it "
                f"out, or use --processes."
            )
        return
    if hosting.processes:
        raise BadSetting(f"processes is for your own environments, and {name} is a suite. Use --threads.")
    if max_episode_steps is not None:
        raise BadSetting(
            f"max_episode_steps={max_episode_steps} is for your own environments, and {name} is a suite: its episodes "
            f"have at most {MAX_EPISODE_STEPS} steps. Leave it out."
        )


def _open_own(
    env: Environment, num_envs: int, hosting: Hosting, limits: tuple[float, ...], max_episode_steps: int | None
) -> "EpisodePlayer":
    """A user's environments. The type of the object that the factory makes decides the engine."""
    from ascpo.engines.functional import FunctionalEngine, World
    from ascpo.engines.gymnasium.engine import GymnasiumEngine
    from ascpo.engines.gymnasium.inspection import made_by
    from ascpo.engines.gymnasium.naming import named

    # With processes, not even the first one is made in this process.
    first = None if hosting.processes else made_by(named(env) if isinstance(env, str) else env)
    if isinstance(first, World):
        return FunctionalEngine(first, num_envs, limits=limits, max_episode_steps=max_episode_steps)
    return GymnasiumEngine(
        env,  # pyrefly: ignore[bad-argument-type] (what makes no environment is refused)
        num_envs,
        processes=hosting.processes,
        step_timeout=hosting.seconds_per_step,
        restart_limits=limits if hosting.restart_environments else None,
        max_episode_steps=max_episode_steps,
        first=first,
    )


def num_envs_for(env: str, episodes: int) -> int:
    """The number of environments that play so many episodes.

    With more, many would be idle during the last episodes. With fewer, cores would be idle. Users' environments may be
    large, so they are fewer.
    """
    return min(episodes, 100) if is_suite(env) else max(1, min(episodes // 10, 32))
