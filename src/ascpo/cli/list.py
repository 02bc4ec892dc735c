"""`ascpo list`: list algorithms, suites or runs."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from ascpo.cli.parsing import parsed
from ascpo.cli.printable import printable
from ascpo.cli.usage import WrongUsage
from ascpo.ranges import shown
from ascpo.runs.serialization import nearest


@dataclass(frozen=True)
class List:
    """List the algorithms, the suites, or the runs in a directory."""

    what: Annotated[str, tyro.conf.Positional] = "algorithms"
    """What to list: algorithms, suites or runs."""
    directory: Annotated[Path, tyro.conf.Positional] = Path("runs")
    """The directory that is searched for runs."""


def main(words: list[str]) -> None:
    asked = parsed(List, words, "ascpo list")
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    lists = {"algorithms": _algorithms, "suites": _suites, "runs": partial(_runs, directory=asked.directory)}
    if asked.what not in lists:
        raise WrongUsage(f"There is no list of {shown(asked.what)}. {nearest(asked.what, lists)}")
    lists[asked.what](table)
    # Square brackets in the name of a directory are no markup.
    console = Console(highlight=False, markup=False)
    console.print(table)
    if asked.what == "algorithms":
        console.print(
            "\nEvery algorithm of the paper has two presets beside our defaults, `published` and `released`. "
            "`ascpo train --algo NAME --preset released --show` lists what a preset changes."
        )


def _algorithms(table: Table) -> None:
    from ascpo.algorithms import ALGORITHMS
    from ascpo.training.settings import Settings

    for title in ("algorithm", "what it does about costs"):
        table.add_column(title)
    for name, kind in ALGORITHMS.items():
        table.add_row(name, kind().build(Settings().probability).description)


def _suites(table: Table) -> None:
    from ascpo.guard.suites import PAPER_SUITES, suite

    for title in ("suite", "constraints", "actions"):
        table.add_column(title)
    for name in PAPER_SUITES:
        found = suite(name)
        table.add_row(name, ", ".join(found.cost_names), str(found.robot.actions))


def _runs(table: Table, directory: Path) -> None:
    from ascpo.runs.directory import NoRun, runs_in
    from ascpo.runs.tables import read_table

    found = runs_in(directory)
    if not found:
        raise NoRun(f"There is no run in {directory}. `ascpo train --out {directory}` makes one.")
    for title in ("run", "epochs", "J_r", "M_c", "within limits"):
        table.add_column(title, justify="left" if title == "run" else "right", overflow="fold")
    for run in found:
        log = read_table(run.metrics) if run.metrics.exists() else {}
        done = len(log.get("Epoch", ()))
        last = (f"{log['EpRet'][-1]:.3f}", f"{log['EpCost'][-1]:.4f}", f"{log['SafeRate'][-1]:.1%}") if done else ()
        table.add_row(printable(str(run.path.relative_to(directory))), f"{done}/{run.config().epochs}", *last)
