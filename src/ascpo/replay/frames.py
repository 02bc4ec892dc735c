"""The frames of an episode in a user's own environment, which replays it and renders each step."""

import contextlib
from collections.abc import Callable
from typing import SupportsFloat

import gymnasium
import numpy as np

from ascpo.engines.functional.world import World
from ascpo.engines.gymnasium.inspection import AnyEnv
from ascpo.engines.gymnasium.naming import resolve
from ascpo.evaluation.records import Record
from ascpo.evaluation.retrace import retrace
from ascpo.runs.environment import Environment
from ascpo.seeding import reset_seed

OnFrame = Callable[[np.ndarray], object]
"""Takes a frame: height by width by RGB."""
Info = dict[str, object]


class NoFrames(ValueError):
    """An environment that cannot render, and why."""


def render_episode(record: Record, env: Environment, on_frame: OnFrame) -> None:
    """Pass on the frame after each step of the episode, in an environment that the user trusts."""
    make = resolve(env) if isinstance(env, str) else env
    if make is None:
        raise NoFrames(f"There is no environment {record.env}.")
    # An environment that cannot render is refused before its episode is played.
    with contextlib.closing(_make(make)) as trial:
        trial.reset(seed=0)
        _frame(trial)
    retrace(record, lambda: _Rendering(_make(make), reset_seed(*record.origin), on_frame))


def jpeg_frames(record: Record, env: Environment) -> tuple[bytes, ...]:
    """The frame after each step of the episode, as JPEG."""
    import imageio.v3

    kept: list[bytes] = []
    render_episode(record, env, lambda frame: kept.append(imageio.v3.imwrite("<bytes>", frame, extension=".jpg")))
    return tuple(kept)


class _Rendering(gymnasium.Wrapper):
    """Renders the episode that starts with one seed. The engine also plays episodes before and after it."""

    def __init__(self, env: AnyEnv, seed: int, on_frame: OnFrame) -> None:
        super().__init__(env)
        self._seed, self._on_frame, self._rendering = seed, on_frame, False

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[object, Info]:
        self._rendering = seed == self._seed
        return self.env.reset(seed=seed, options=options)

    def step(self, action: object) -> tuple[object, SupportsFloat, bool, bool, Info]:
        result = self.env.step(action)
        if self._rendering:
            self._on_frame(_frame(self.env))
        return result


def _make(make: Callable[..., AnyEnv | World]) -> AnyEnv:
    """The environment with a render mode, if it takes one as an argument."""
    try:
        made = make(render_mode="rgb_array")
    except (TypeError, gymnasium.error.Error):
        made = make()
    if isinstance(made, World):
        raise NoFrames("It is a world of JAX functions, which renders no frames.")
    return made


def _frame(env: AnyEnv) -> np.ndarray:
    if env.render_mode != "rgb_array":
        raise NoFrames('It has no render_mode="rgb_array", so it renders no frames.')
    try:
        frame = np.asarray(env.render())
    except Exception as error:  # rendering fails in as many ways as there are environments
        raise NoFrames(f"Its render() fails: {type(error).__name__}: {error}.") from error
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8:
        raise NoFrames(f"render() gives {frame.dtype} of shape {frame.shape}, not height by width by RGB in bytes.")
    return frame
