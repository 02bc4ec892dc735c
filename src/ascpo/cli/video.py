"""`ascpo video RUN`: one of the worst episodes of an evaluation as an mp4."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ascpo.replay.story import title
from ascpo.replay.video import write_video
from ascpo.replay.worst import Actions, worst_records
from ascpo.runs.compilation_cache import keep_compiled_programs
from ascpo.runs.directory import find
from ascpo.runs.serialization import BadSetting


@dataclass(frozen=True)
class Video:
    """Write a video of one of the worst episodes of a run's last evaluation."""

    run: Annotated[Path, tyro.conf.Positional]
    """The run's directory."""
    actions: Actions = "sampled"
    """Episodes with drawn or with mean actions."""
    episode: int = 0
    """Which one; 0 is the worst."""
    out: Path | None = None
    """The file, an mp4; in the run's directory unless told otherwise."""
    size: int = 480
    """Side of the picture in pixels; the user's own environments have sizes of their own."""
    fps: float = 30.0
    """Pictures a second; there is one for each step."""


def main(words: list[str]) -> None:
    wanted = tyro.cli(Video, args=words, prog="ascpo video")
    records = worst_records(wanted.run, wanted.actions)
    if not 0 <= wanted.episode < len(records):
        raise BadSetting(f"--episode {wanted.episode}: there are the episodes 0 (the worst) to {len(records) - 1}.")
    keep_compiled_programs()
    out = wanted.out or find(wanted.run).path / f"worst-{wanted.actions}-{wanted.episode}.mp4"
    write_video(records[wanted.episode], out, size=wanted.size, fps=wanted.fps)
    print(f"{out} shows episode {title(records[wanted.episode], wanted.episode)}.")
