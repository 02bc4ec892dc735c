"""`ascpo video RUN`: write one of the worst episodes of an evaluation as an mp4."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from ascpo.choices import Actions
from ascpo.cli.own_code import OwnCode
from ascpo.cli.parsing import parsed
from ascpo.cli.printable import printable
from ascpo.ranges import Range
from ascpo.runs.places import run_place
from ascpo.runs.serialization import BadSetting


@dataclass(frozen=True)
class Video:
    """Write a video of one of the worst episodes of a run's last evaluation.

    The file is an mp4 in the run's directory, with the step and the cost written into each frame. Next: `--episode 1`
    takes the second worst, and `ascpo replay RUN` shows them all in a browser.
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The directory of the run."""
    actions: Actions = "sampled"
    """Choose from the episodes with sampled actions or with mean actions."""
    episode: Annotated[int, Range(at_least=0, at_most=10**4)] = 0
    """The rank of the episode; 0 is the worst."""
    out: Path | None = None
    """The mp4 file. By default it is in the directory of the run."""
    size: Annotated[int, Range(at_least=16, at_most=4096)] = 480
    """The width and height of a frame in pixels. Your own environments choose the size of their frames."""
    fps: Annotated[float, Range(above=0.0, at_most=1000.0)] = 30.0
    """Frames per second. Each step has one frame."""
    own_code: Annotated[OwnCode, tyro.conf.arg(name="")] = field(default_factory=OwnCode)


def main(arguments: list[str]) -> None:
    options = parsed(Video, arguments, "ascpo video")
    run_place(options.run)
    from ascpo.replay.episode import title, worst_records
    from ascpo.replay.video import write_video
    from ascpo.runs.compilation import set_up_compilation
    from ascpo.runs.directory import find

    records = worst_records(options.run, options.actions)
    if not 0 <= options.episode < len(records):
        raise BadSetting(f"--episode {options.episode}: choose an episode from 0 (the worst) to {len(records) - 1}.")
    set_up_compilation()
    out = options.out or find(options.run).path / f"worst-{options.actions}-{options.episode}.mp4"
    look = {"size": options.size, "fps": options.fps}
    note = write_video(records[options.episode], out, **look, **vars(options.own_code))
    print(printable(f"{out} shows episode {title(records[options.episode], options.episode)}. {note}".rstrip()))
