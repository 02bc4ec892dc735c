"""`ascpo replay RUN`: show the worst episodes of an evaluation in a browser."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from ascpo.choices import Actions
from ascpo.cli.own_code import OwnCode
from ascpo.cli.parsing import parsed
from ascpo.cli.serving import serve
from ascpo.ranges import Range
from ascpo.runs.places import run_place


@dataclass(frozen=True)
class ReplayVerb:
    """Show the worst episodes of a run's last evaluation in a browser on this machine.

    The command prints the address of a page where you can play, pause and step through the episodes in 3D, with their
    costs. Ctrl-C ends it. Next: `ascpo video RUN` writes an episode into a file, and `ascpo evaluate RUN --seed 1`
    finds other episodes.
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The directory of the run."""
    actions: Actions = "sampled"
    """Show the episodes with sampled actions or with mean actions."""
    port: Annotated[int, Range(at_least=0, at_most=65535)] = 8080
    """The port of the page. If it is taken, the page uses the next free one."""
    open: bool = True
    """Open the page in a browser."""
    own_code: Annotated[OwnCode, tyro.conf.arg(name="")] = field(default_factory=OwnCode)


def main(arguments: list[str]) -> None:
    options = parsed(ReplayVerb, arguments, "ascpo replay")
    run_place(options.run)
    from ascpo.replay.episode import worst_records
    from ascpo.replay.serve import Replay
    from ascpo.runs.compilation import set_up_compilation

    records = worst_records(options.run, options.actions)
    set_up_compilation()
    print("Playing the worst episode again ...", flush=True)
    replay = Replay(records, options.port, **vars(options.own_code))
    serve(replay, f"the {len(records)} worst episodes", options.port, in_browser=options.open)
