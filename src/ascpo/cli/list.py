"""`ascpo list`: list algorithms, suites or runs."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ascpo.cli.parsing import parsed
from ascpo.cli.printable import printable
from ascpo.cli.usage import WrongUsage
from ascpo.ranges import shown
from ascpo.runs.files import reading
from ascpo.runs.serialization import BadSetting, nearest

if TYPE_CHECKING:
    from ascpo.runs.directory import RunDirectory


_REASONS = 5
"""The most runs that are named if none can be read."""
_UNVERIFIED = "unverified: written by an earlier version, without checksums."


@dataclass(frozen=True)
class List:
    """List the algorithms, the suites, or the runs in a directory.

    Next: `ascpo train --env SUITE --algo ALGORITHM` for what you have chosen, and `ascpo report RUN` for a run.
    """

    what: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[WHAT]")] = "algorithms"
    """What to list: algorithms, suites or runs."""
    directory: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="[DIRECTORY]")] = Path("runs")
    """The directory that is searched for runs."""


def main(words: list[str]) -> None:
    asked = parsed(List, words, "ascpo list")
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    lists = {"algorithms": _algorithms, "suites": _suites, "runs": partial(_runs, directory=asked.directory)}
    if asked.what not in lists:
        raise WrongUsage(f"There is no list of {shown(asked.what)}. {nearest(asked.what, lists)}")
    below = lists[asked.what](table)
    # Square brackets in the name of a directory are not markup.
    console = Console(highlight=False, markup=False)
    console.print(table)
    if below:
        console.print()
    for line in below:
        # Lines break between words. In a file, a sentence is one line.
        console.print(Text(line), soft_wrap=not console.is_terminal)


def _algorithms(table: Table) -> list[str]:
    """Fill the table, and return the lines below it."""
    from ascpo.algorithms import ALGORITHMS
    from ascpo.guard.suites import PAPER_SUITES
    from ascpo.runs.config import configure

    for title in ("algorithm", "how it treats costs"):
        table.add_column(title)
    for name in ALGORITHMS:
        table.add_row(name, configure(PAPER_SUITES[0], name).outline.description)
    return [
        "Every algorithm of the paper has our defaults and two presets, `published` and `released`. "
        "`ascpo train --algo NAME --preset released --show` lists what a preset changes."
    ]


def _suites(table: Table) -> list[str]:
    from ascpo.guard.suites import PAPER_SUITES, suite

    for title in ("suite", "constraints", "actions"):
        table.add_column(title)
    for name in PAPER_SUITES:
        found = suite(name)
        table.add_row(name, ", ".join(found.cost_names), str(found.robot.actions))
    return []


def _runs(table: Table, directory: Path) -> list[str]:
    from ascpo.runs.directory import NoRun, runs_in

    found = runs_in(directory)
    if not found and directory.exists() and not directory.is_dir():
        raise BadSetting(f"{directory} is not a directory. Name the one that holds the runs: ascpo list runs runs")
    if not found:
        raise NoRun(f"There is no run in {directory}. `ascpo train --out {directory}` makes one.")
    rows = [(str(run.path.relative_to(directory)), *_row(run)) for run in found]
    remarks = [remark for *_, remark in rows if remark]
    if all(epochs.startswith("?") for _, epochs, *_ in rows):
        raise NoRun(" ".join(remark.removeprefix("BAD: ") for remark in remarks[:_REASONS]))
    for title in ("run", "epochs", "EpRet", "EpCost", "SafeRate", *([""] if remarks else [])):
        table.add_column(title, justify="left" if title in ("run", "") else "right", overflow="fold")
    for *cells, remark in rows:
        # The table has a mark; the sentence is too long for it and stands below.
        marked = [*cells, remark.partition(":")[0]]
        table.add_row(*(Text(printable(cell)) for cell in marked[: len(table.columns)]))
    return [printable(remark) for remark in dict.fromkeys(remarks)]


def _row(run: "RunDirectory") -> tuple[str, str, str, str, str]:
    """Epochs, return, cost, share within limits, and a sentence about what is wrong with the run."""
    from ascpo.runs.directory import NoRun, stored_config
    from ascpo.runs.sealed import fingerprint_of
    from ascpo.runs.tables import check_table, columns_of, sums_of

    planned: str = "?"
    last: tuple[str, str, str] = ("", "", "")
    try:
        planned, sealed = str(run.config().epochs), stored_config(run.config_file)
        if not run.metrics.exists():
            lost = sums_of(run.metrics).exists() or run.policy.exists()
            return f"0/{planned}", *last, f"BAD: {run.metrics} is missing." if lost else ""
        checked = check_table(run.metrics)
        log = columns_of(run.metrics, checked.lines)
        with reading(run.metrics):
            done = len(log["Epoch"]) if log else 0
            if done:
                last = f"{log['EpRet'][-1]:.3f}", f"{log['EpCost'][-1]:.4f}", f"{log['SafeRate'][-1]:.1%}"
    except NoRun as error:
        return f"?/{planned}", "", "", "", f"BAD: {error}"
    remark = checked.damage or checked.pending
    if checked.verified and checked.run != fingerprint_of(sealed.content):
        remark = f"{run.metrics} does not belong to the same run as {run.config_file.name}."
    if not remark and not (checked.verified and sealed.verified):
        return f"{done}/{planned}", *last, _UNVERIFIED
    return f"{done}/{planned}", *last, f"BAD: {remark}" if remark else ""
