"""A recorded episode as an mp4 video. Frames are tinted red while there is a cost.

Above a frame stand the step and its costs, and below it is a time bar: steps that are played are dark, and steps that
violate a limit are red.
"""

import contextlib
import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import mujoco
import numpy as np
from jaxtyping import Bool, UInt8

from ascpo.environments.render import Painter, RenderingUnavailable
from ascpo.errors import to_install
from ascpo.evaluation.records import Record
from ascpo.evaluation.retrace import Path3D, retrace
from ascpo.replay.episode import Episode, Line, step_colours
from ascpo.replay.frames import NoFrames, OnFrame, render_episode
from ascpo.runs.environment import Environment
from ascpo.runs.links import refuse_links
from ascpo.runs.serialization import BadSetting
from ascpo.runs.trust import trusted

if TYPE_CHECKING:
    import mediapy

_BAR = 8
"""The height of the time bar in pixels."""
_READABLE = 160
"""Frames of fewer pixels across have no text."""
_PAPER, _INK, _ALARM = (255, 255, 255), (31, 35, 40), (190, 20, 20)


def write_video(
    record: Record,
    out: Path,
    *,
    env: Environment | None = None,
    trust_env: bool = False,
    size: int = 480,
    fps: float = 30.0,
) -> str:
    """Write one frame per step, and return a note if the episode differs from its record.

    `size` is the side of a suite's frames; other environments choose their own size.
    """
    _check(out)
    env = trusted(record.env, env, trust_env=trust_env)
    steps = retrace(record, env)
    episode = Episode(record, steps.reward, steps.cost)
    with _video_file(out, fps) as add:
        numbers = itertools.count()

        def on_frame(frame: UInt8[np.ndarray, "height width 3"]) -> None:
            step = next(numbers)
            add(with_time_bar(with_text(frame, episode.captions(step)), episode.violated, step))

        if steps.path is None:
            try:
                render_episode(record, env, on_frame)
            except NoFrames as missing:
                raise NoFrames(f"There is no video of {record.env}. {missing}") from missing.__cause__
        else:
            _render_suite(steps.path, np.any(episode.cost > 0, axis=1), size, on_frame)
    return steps.note


def with_text(frame: UInt8[np.ndarray, "height width 3"], lines: Sequence[Line]) -> UInt8[np.ndarray, "taller width 3"]:
    """The frame below lines of text. A frame that is too narrow to read them on has none."""
    width = frame.shape[1]
    if width < _READABLE:
        return frame
    from PIL import Image, ImageDraw, ImageFont

    size = max(11, width // 32)
    font = ImageFont.load_default(size)
    room = width - size
    height = round(1.35 * size)
    strip = Image.new("RGB", (width, height * len(lines) + size // 2), _PAPER)
    draw = ImageDraw.Draw(strip)
    for i, line in enumerate(lines):
        text = _fitting(line.text, lambda text: font.getlength(text) <= room)
        draw.text((size // 2, size // 4 + i * height), text, fill=_ALARM if line.alarm else _INK, font=font)
    return np.concatenate([np.asarray(strip), frame])


def _fitting(text: str, fits: Callable[[str], bool]) -> str:
    """The text, or its end if it is too long: a long name loses its beginning, and the figures are kept."""
    shorter = (f"…{text[start:]}" for start in range(1, len(text)))
    return text if fits(text) else next(filter(fits, shorter), "")


def with_time_bar(
    frame: UInt8[np.ndarray, "height width 3"], violated: Bool[np.ndarray, " time"], step: int
) -> UInt8[np.ndarray, "taller width 3"]:
    """The frame with a time bar below it."""
    width = frame.shape[1]
    # A column of pixels is one step or several. It is red if any of them violates a limit.
    edges = np.arange(width + 1) * len(violated) // width
    first, beyond = edges[:-1], np.maximum(edges[1:], edges[:-1] + 1)
    so_far = np.concatenate([[0], np.cumsum(violated)])
    bar = step_colours(so_far[beyond] > so_far[first], first <= step)
    return np.concatenate([frame, np.repeat(bar[None], _BAR, axis=0)])


def _render_suite(path: Path3D, costly: Bool[np.ndarray, " time"], size: int, on_frame: OnFrame) -> None:
    """Render the state after each step in a suite. Frames of costly steps are tinted."""
    data = mujoco.MjData(path.task.model)
    try:
        painter = Painter(path.task, size, size)
    except RenderingUnavailable as missing:
        raise BadSetting(str(missing)) from missing
    with contextlib.closing(painter):
        for state, red in enumerate(costly, start=1):
            data.qpos[:], data.mocap_pos[:] = path.qpos[state], path.mocap_pos[state]
            on_frame(painter.paint(data, path.layouts[state], violated=bool(red)))


@contextlib.contextmanager
def _video_file(out: Path, fps: float) -> Iterator[OnFrame]:
    """Adds frames to a file. An error leaves no file behind."""
    # ffmpeg takes names that begin with pipe: or http: as addresses. An absolute path begins with a slash.
    part = out.absolute().with_name(f".{out.stem}.part.mp4")
    refuse_links(out, part)
    writer: mediapy.VideoWriter | None = None

    def add(frame: UInt8[np.ndarray, "height width 3"]) -> None:
        nonlocal writer
        # Players need even sizes.
        height, width = (side // 2 * 2 for side in frame.shape[:2])
        if writer is None:
            writer = opened.enter_context(_mediapy().VideoWriter(part, (height, width), fps=fps, crf=20))
        writer.add_image(np.ascontiguousarray(frame[:height, :width]))

    try:
        with contextlib.ExitStack() as opened:
            yield add
        os.replace(part, out)
    finally:
        part.unlink(missing_ok=True)


def _check(out: Path) -> None:
    if out.suffix != ".mp4":
        raise BadSetting(f"--out {out}: the video is an mp4, so choose a name that ends in .mp4.")
    if not out.parent.is_dir():
        raise BadSetting(f"--out {out}: there is no directory {out.parent}. Create it, or choose another one.")
    _mediapy()


def _mediapy() -> ModuleType:
    """mediapy with an ffmpeg: that of the system, or that of imageio-ffmpeg."""
    has_ffmpeg = shutil.which("ffmpeg") is not None
    for package, name in {"mediapy": "mediapy", "imageio_ffmpeg": "ffmpeg"}.items():
        if find_spec(package) is None and not (name == "ffmpeg" and has_ffmpeg):
            raise BadSetting(f"A video needs {name}. Install it: {to_install('video')}.")
    import mediapy

    if not has_ffmpeg:
        import imageio_ffmpeg

        mediapy.set_ffmpeg(imageio_ffmpeg.get_ffmpeg_exe())
    return mediapy
