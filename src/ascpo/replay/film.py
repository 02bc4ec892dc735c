"""Pictures of an episode in an environment of the user's own: it is played again, and asked to draw each step."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from ascpo.engines.inspection import AnyEnv, resolve
from ascpo.evaluation.records import Record
from ascpo.evaluation.retrace import retrace

See = Callable[[np.ndarray], object]
"""Takes a picture: height by width by RGB."""


class NoPictures(ValueError):
    """An environment that cannot draw, and why."""


def film(record: Record, see: See) -> None:
    """Show the picture after each step of the episode."""
    make = resolve(record.env)
    if make is None:
        raise NoPictures(f"{record.env} is not found.")
    _try(make)
    retrace(record, lambda: _Filmed(_drawing(make), record.seed, see))


class _Filmed(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Draws the steps of the episode that begins with one seed. The engine plays others too, before and after."""

    def __init__(self, env: AnyEnv, seed: int, see: See) -> None:
        super().__init__(env)
        self._seed, self._see = seed, see
        self._filming = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._filming = seed == self._seed
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        result = self.env.step(action)
        if self._filming:
            self._see(_picture(self.env))
        return result


def _drawing(make: Callable[..., AnyEnv]) -> AnyEnv:
    """The environment, drawing if it takes an argument for that or does so anyway."""
    try:
        return make(render_mode="rgb_array")
    except (TypeError, gymnasium.error.Error):
        return make()


def _try(make: Callable[..., AnyEnv]) -> None:
    """Raise `NoPictures` if there will be none."""
    env = _drawing(make)
    try:
        env.reset(seed=0)
        _picture(env)
    except NoPictures:
        raise
    except Exception as error:  # drawing fails in as many ways as there are environments
        raise NoPictures(f"It failed to draw: {type(error).__name__}: {error}.") from error
    finally:
        env.close()


def _picture(env: AnyEnv) -> np.ndarray:
    if env.render_mode != "rgb_array":
        raise NoPictures('It draws no pictures: it knows no render_mode="rgb_array".')
    drawn = np.asarray(env.render())
    if drawn.ndim != 3 or drawn.shape[2] != 3 or drawn.dtype != np.uint8:
        raise NoPictures(f"render() gives {drawn.dtype} of shape {drawn.shape}, not height by width by RGB in bytes.")
    return drawn
