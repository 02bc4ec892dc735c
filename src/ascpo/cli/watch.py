"""`ascpo watch DIRECTORY`: show the curves of runs in a browser while they train."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ascpo.cli.parsing import parsed
from ascpo.cli.printable import printable
from ascpo.cli.serving import serve
from ascpo.ranges import Range
from ascpo.runs.serialization import BadSetting


@dataclass(frozen=True)
class WatchVerb:
    """Show the curves of all runs in a directory in a browser on this machine, while they train.

    The page refreshes itself, and finds runs that begin later. It reads their logs alone, so you can open and close it
    at any time: Ctrl-C ends the page, and no training. Next: `ascpo report RUN` for a run that has ended.
    """

    directory: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="[DIRECTORY]")] = Path("runs")
    """The directory of the runs, or of one run."""
    port: Annotated[int, Range(at_least=0, at_most=65535)] = 8090
    """The port of the page. If it is taken, the page uses the next free one."""
    every: Annotated[float, Range(at_least=0.2, at_most=3600.0)] = 2.0
    """The seconds between two refreshes."""
    open: bool = True
    """Open the page in a browser."""


def main(arguments: list[str]) -> None:
    options = parsed(WatchVerb, arguments, "ascpo watch")
    if options.directory.exists() and not options.directory.is_dir():
        raise BadSetting(f"{options.directory} is not a directory. Name the one that holds the runs: ascpo watch runs")
    from ascpo.watch.serve import Watch

    watch = Watch(options.directory, options.port, options.every)
    what = f"the runs in {printable(str(options.directory))}"
    serve(watch, what, options.port, in_browser=options.open)
