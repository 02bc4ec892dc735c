"""Output that several commands share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ascpo.choices import EvaluatedActions
from ascpo.cli.printable import printable
from ascpo.evaluation.evaluate import evaluate_run
from ascpo.evaluation.metrics import MEANINGS, Figures
from ascpo.runs.callbacks.display import counting
from ascpo.runs.sealed import UNVERIFIED
from ascpo.runs.trained_policy import read_policy

_WIDE = 120
"""From this width on, the table explains the figures."""
_ROOM = 96
"""From this width on, the table has room for two columns of figures with four digits."""


def show_evaluation(run: Path, episodes: int, *, actions: EvaluatedActions = "sampled", **options: Any) -> None:
    """Evaluate a policy on fresh episodes, and print the figures. The options are those of `evaluate_run`."""
    with counting("episodes", episodes) as on_progress:
        found = evaluate_run(run, episodes, actions=actions, on_progress=on_progress, **options)
    ways = {way: found[way] for way in ("sampled", "mean") if actions in (way, "both")}
    show_figures(ways, episodes)
    if not read_policy(run).verified:
        Console(highlight=False, markup=False).print(f"The policy is {UNVERIFIED}.")


def show_figures(ways: Mapping[str, Figures], episodes: int) -> None:
    """A table with a column for each kind of actions, or a table for each if they do not fit side by side."""
    console = Console(highlight=False, markup=False)
    wide, digits = console.width >= _WIDE, 4 if console.width >= _ROOM or len(ways) == 1 else 3
    table = _figures_table(ways, episodes, wide=wide, digits=digits)
    if len(ways) == 1 or _width(table) <= console.width:
        return console.print(table)
    for way, figures in ways.items():
        console.print(_figures_table({way: figures}, episodes, wide=wide, digits=4))


def _width(table: Table) -> int:
    """The width that the table needs to show everything."""
    return Console(width=10_000).measure(table).maximum


def _figures_table(ways: Mapping[str, Figures], episodes: int, *, wide: bool, digits: int) -> Table:
    fresh = "fresh " if len(ways) == 1 else ""
    table = plain_table(f"{episodes} {fresh}episodes", *(f"{way} actions" for way in ways))
    if wide:
        table.add_column("", style="dim")
    for name in next(iter(ways.values())):
        if name != "intervals":
            meaning = (MEANINGS.get(name, ""),) if wide else ()
            table.add_row(
                printable(name), *(_with_interval(figures, name, digits) for figures in ways.values()), *meaning
            )
    return table


def plain_table(first: str, *others: str) -> Table:
    """A table without rules. All columns but the first are numbers."""
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), title_justify="left")
    # Long names are wrapped; figures never are.
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _with_interval(figures: Figures, name: str, digits: int) -> str:
    value = figures[name]
    if value is None:
        return "none"
    low, high = figures["intervals"].get(name, (None, None))
    text = f"{value:.{digits}g}" if isinstance(value, float) else str(value)
    return text if low is None else f"{text} [{low:.{digits}g}, {high:.{digits}g}]"
