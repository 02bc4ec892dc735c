"""`ascpo report RUN …`: write a page about one run, or compare several runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ascpo.cli.parsing import parsed
from ascpo.runs.places import run_place
from ascpo.runs.serialization import BadSetting


@dataclass(frozen=True)
class Report:
    """Write an HTML page about runs: learning curves, largest costs, fresh episodes, the optimiser's steps.

    The command reads the files of the runs, and trains and plays nothing. It prints the place of the page, a single
    file that needs no network, and of the figures as PNG and SVG. Next: open the page in a browser, and look up an
    epoch that surprises you with `ascpo journal RUN EPOCH`.
    """

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN ...]")]
    """The directories of the runs, or directories that contain runs. The report groups runs that differ only in their
    seed."""
    out: Path | None = None
    """The directory of the page and its figures. By default it is RUN/report for one run and ./report for several."""


def main(arguments: list[str]) -> None:
    options = parsed(Report, arguments, "ascpo report")
    if not options.runs:
        raise BadSetting("Name the directory of a run, or a directory that contains runs: ascpo report runs")
    for path in options.runs:
        if not path.exists():
            run_place(path)
    from ascpo.report.document import write_report

    page = write_report(options.runs, options.out)
    print(f"Report: {page}\nFigures: {page.parent / 'figures'}")
