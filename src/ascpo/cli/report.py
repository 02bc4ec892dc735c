"""`ascpo report RUN …`: a page about one run, or about several side by side."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ascpo.report.document import write_report
from ascpo.runs.serialization import BadSetting


@dataclass(frozen=True)
class Report:
    """Make a page about runs: curves, largest costs, fresh episodes, what the optimiser did. It trains nothing."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Runs' directories, or directories that hold some. Runs that differ only in their seed are taken together."""
    out: Path | None = None
    """Where the page and its figures go: RUN/report for one run, ./report for several, if not given."""


def main(words: list[str]) -> None:
    wanted = tyro.cli(Report, args=words, prog="ascpo report")
    if not wanted.runs:
        raise BadSetting("Name a run's directory, or one that holds runs: ascpo report runs")
    page = write_report(wanted.runs, wanted.out)
    print(f"Report: {page}\nFigures: {page.parent / 'figures'}")
