"""Tables as data, printed for a person, for a page, or for a program."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

from ascpo.paper.intervals import Interval

Cell = str | int | float | Interval | tuple[float, float] | None
"""A mean with its standard deviation is a pair. None is for what is not known."""


@dataclass(frozen=True)
class Column:
    """A column, and how its numbers are written; without that it is of words."""

    title: str
    digits: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under titles."""

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Cell]]

    def cells(self) -> list[list[str]]:
        return [[_words(cell, c.digits) for cell, c in zip(row, self.columns, strict=True)] for row in self.rows]


def print_table(table: Table, console: Console) -> None:
    shown = RichTable(box=None, header_style="bold", padding=(0, 2, 0, 0), title_justify="left", title=table.title)
    for column in table.columns:
        justify = "right" if column.digits else "left"
        shown.add_column(column.title, justify=justify, overflow="fold", no_wrap=justify == "left")
    for row in table.cells():
        shown.add_row(*row)
    console.print(shown)


def to_markdown(table: Table) -> str:
    head = "| " + " | ".join(column.title for column in table.columns) + " |"
    rule = "|" + "".join("---:|" if column.digits else "---|" for column in table.columns)
    return "\n".join([f"### {table.title}", "", head, rule, *("| " + " | ".join(row) + " |" for row in table.cells())])


def write_csv(path: Path, tables: Sequence[Table]) -> None:
    """All of them in one file, with the numbers as they are: a mean's deviation and an interval's ends are columns."""
    rows = [{"table": table.title} | _plain(table, row) for table in tables for row in table.rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _words(cell: Cell, digits: str) -> str:
    match cell:
        case None:
            return "–"
        case str() | int():
            return str(cell)
        case float():
            return "–" if math.isnan(cell) else f"{cell:{digits}}"
        case Interval():
            return f"{cell.value:{digits}} [{cell.low:{digits}}, {cell.high:{digits}}]"
        case (mean, spread):
            return f"{mean:{digits}} ± {spread:{digits}}"


def _plain(table: Table, row: Sequence[Cell]) -> dict[str, object]:
    out: dict[str, object] = {}
    for column, cell in zip(table.columns, row, strict=True):
        match cell:
            case Interval():
                out |= {column.title: cell.value, f"{column.title} low": cell.low, f"{column.title} high": cell.high}
            case (mean, spread):
                out |= {column.title: mean, f"{column.title} deviation": spread}
            case _:
                out[column.title] = "" if cell is None else cell
    return out
