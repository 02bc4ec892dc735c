"""Video: a recorded episode as an mp4, tinted red while a cost is being paid, with a line of time below.

On the line, steps over a limit are red, and what has been played is dark.
"""

import contextlib
import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from jaxtyping import Bool, UInt8

from ascpo.environments.render import Painter, RenderingUnavailable
from ascpo.evaluation.records import Record
from ascpo.evaluation.retrace import Path3D, retrace
from ascpo.replay.film import See, film
from ascpo.replay.story import Story
from ascpo.replay.trail import trail_colours
from ascpo.runs.serialization import BadSetting

_LINE = 8
"""Height of the line of time, in pixels."""


def write_video(record: Record, out: Path, *, size: int = 480, fps: float = 30.0) -> None:
    """One picture a step. `size` is the side of a suite's pictures; other environments have sizes of their own."""
    _check(out, size, fps)
    trajectory = retrace(record)
    story = Story(record, trajectory.reward, trajectory.cost)
    with _Tape(out, fps) as tape:
        step = iter(range(len(story)))

        def see(picture: UInt8[np.ndarray, "height width 3"]) -> None:
            tape.add(with_timeline(picture, story.violated, next(step)))

        if trajectory.path is None:
            film(record, see)
        else:
            _paint(trajectory.path, np.any(story.cost > 0, axis=1), size, see)


def with_timeline(
    picture: UInt8[np.ndarray, "height width 3"], violated: Bool[np.ndarray, " time"], step: int
) -> UInt8[np.ndarray, "taller width 3"]:
    """The picture with a line of time below it."""
    width = picture.shape[1]
    # A column stands for one step, or for several: it is red if any of them is.
    first, beyond = (np.arange(width) + end for end in (0, 1))
    first = first * len(violated) // width
    beyond = np.maximum(beyond * len(violated) // width, first + 1)
    so_far = np.concatenate([[0], np.cumsum(violated)])
    line = trail_colours(so_far[beyond] > so_far[first], first <= step)
    return np.concatenate([picture, np.repeat(line[None], _LINE, axis=0)])


def _paint(path: Path3D, paying: Bool[np.ndarray, " time"], size: int, see: See) -> None:
    """Draw a suite's states, from the first step's on."""
    data = mujoco.MjData(path.task.model)
    try:
        painter = Painter(path.task, size, size)
    except RenderingUnavailable as missing:
        raise BadSetting(str(missing)) from missing
    try:
        for state, now in enumerate(paying, start=1):
            data.qpos[:], data.mocap_pos[:] = path.qpos[state], path.mocap_pos[state]
            see(painter.paint(data, path.layouts[state], violated=bool(now)))
    finally:
        painter.close()


class _Tape:
    """Writes pictures to a file, which is there as a whole or not at all."""

    def __init__(self, out: Path, fps: float) -> None:
        self._out, self._fps = out, fps
        self._part = out.with_name(f".{out.stem}.part.mp4")
        self._writer: Any = None
        self._open = contextlib.ExitStack()

    def add(self, picture: UInt8[np.ndarray, "height width 3"]) -> None:
        # Players want even sizes.
        height, width = (side // 2 * 2 for side in picture.shape[:2])
        if self._writer is None:
            self._writer = self._open.enter_context(
                _mediapy().VideoWriter(self._part, (height, width), fps=self._fps, crf=20)
            )
        self._writer.add_image(np.ascontiguousarray(picture[:height, :width]))

    def __enter__(self) -> "_Tape":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._open.close()
        if kind is None:
            os.replace(self._part, self._out)
        else:
            self._part.unlink(missing_ok=True)


def _check(out: Path, size: int, fps: float) -> None:
    if out.suffix != ".mp4":
        raise BadSetting(f"--out {out}: the video is an mp4, so give a name that ends in .mp4.")
    if not out.parent.is_dir():
        raise BadSetting(f"--out {out}: there is no directory {out.parent}. Make it first, or choose another one.")
    if not 16 <= size <= 4096:
        raise BadSetting(f"--size {size}: ask for 16 to 4096 pixels.")
    if not fps > 0:
        raise BadSetting(f"--fps {fps}: ask for more than 0 pictures a second.")
    _mediapy()


def _mediapy() -> Any:
    """The library, with an ffmpeg: the system's, or the one that imageio-ffmpeg brings."""
    if find_spec("mediapy") is None:
        raise BadSetting("A video needs mediapy, which is not installed: pip install 'ascpo[video]'.")
    import mediapy

    if shutil.which("ffmpeg") is None:
        if find_spec("imageio_ffmpeg") is None:
            raise BadSetting("A video needs ffmpeg, which was not found: pip install 'ascpo[video]' brings one.")
        import imageio_ffmpeg

        mediapy.set_ffmpeg(imageio_ffmpeg.get_ffmpeg_exe())
    return mediapy
