"""`ascpo list`: algorithms, suites, runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from ascpo.runs.serialization import BadSetting, nearest

_KINDS = ("algorithms", "suites", "runs")


@dataclass(frozen=True)
class List:
    """Show what there is."""

    what: Annotated[str, tyro.conf.Positional] = "algorithms"
    """algorithms, suites or runs."""
    directory: Annotated[Path, tyro.conf.Positional] = Path("runs")
    """Where to look for runs."""


def main(words: list[str]) -> None:
    wanted = tyro.cli(List, args=words, prog="ascpo list")
    if wanted.what not in _KINDS:
        raise BadSetting(f"There is no list of {wanted.what!r}. {nearest(wanted.what, _KINDS)}")
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    {"algorithms": _algorithms, "suites": _suites, "runs": lambda table: _runs(table, wanted.directory)}[wanted.what](
        table
    )
    Console(highlight=False).print(table)


def _algorithms(table: Table) -> None:
    from ascpo.algorithms import ALGORITHMS
    from ascpo.training.settings import Settings

    table.add_column("algorithm")
    table.add_column("what it does about costs")
    for name, kind in ALGORITHMS.items():
        table.add_row(name, kind().build(Settings().probability).words)


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
        raise NoRun(f"There is no run in {directory}. `ascpo train --out {directory}` would make one.")
    for title in ("run", "epochs", "J_r", "M_c", "within limits"):
        table.add_column(title, justify="left" if title == "run" else "right", overflow="fold")
    for run in found:
        log = read_table(run.metrics) if run.metrics.exists() else {}
        done = len(log.get("Epoch", ()))
        last = (f"{log['EpRet'][-1]:.3f}", f"{log['EpCost'][-1]:.4f}", f"{log['SafeRate'][-1]:.1%}") if done else ()
        table.add_row(str(run.path.relative_to(directory)), f"{done}/{run.config().epochs}", *last)
