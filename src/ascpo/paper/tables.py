"""Tables and pages as data, and how they are written: to the console, as Markdown, as CSV."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

from ascpo.paper.claims import Assessment
from ascpo.paper.intervals import Interval

Cell = str | int | float | Interval | tuple[float, float] | None
"""A pair is a mean with its standard deviation. None is an unknown value."""


@dataclass(frozen=True)
class Column:
    """A column, and the format of its numbers. A column without a format holds text."""

    title: str
    digits: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells under the titles of columns."""

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Cell]]

    def cells(self) -> list[list[str]]:
        return [[_text(cell, c.digits) for cell, c in zip(row, self.columns, strict=True)] for row in self.rows]


@dataclass
class Page:
    """What is shown of one experiment."""

    title: str
    last: int = 1
    """J_r and M_c are means over so many epochs."""
    notes: list[str] = field(default_factory=list)
    """Sentences above the tables."""
    tables: list[Table] = field(default_factory=list)
    claims: list[Assessment] = field(default_factory=list)
    pictures: list[Path] = field(default_factory=list)
    footnotes: list[str] = field(default_factory=list)

    def all_tables(self) -> list[Table]:
        """The tables, and one of the claims."""
        if not self.claims:
            return self.tables
        columns = (Column("claim"), Column("ours", ".3g"), Column("published", ".3g"), Column("verdict"))
        rows = [(one.claim, one.ours, one.published, one.verdict) for one in self.claims]
        title = "Claims: the factor, or for returns the difference, with 95 % intervals"
        return [*self.tables, Table(title, columns, rows)]


def print_page(page: Page, console: Console) -> None:
    console.print(page.title, style="bold", markup=False)
    for note in page.notes:
        console.print(note, markup=False, soft_wrap=True)
    for table in page.all_tables():
        console.print()
        _print_table(table, console)
    console.print()
    for note in [*page.footnotes, *(f"Figure: {picture}" for picture in page.pictures)]:
        console.print(note, markup=False, soft_wrap=True)


def page_to_markdown(page: Page) -> str:
    pictures = [f"![{page.title}]({picture})" for picture in page.pictures if picture.suffix == ".svg"]
    parts = [f"## {page.title}", *page.notes, *map(_to_markdown, page.all_tables()), *page.footnotes, *pictures]
    return "\n\n".join(parts) + "\n"


def _print_table(table: Table, console: Console) -> None:
    shown = RichTable(box=None, header_style="bold", padding=(0, 2, 0, 0), title_justify="left", title=table.title)
    for column in table.columns:
        justify = "right" if column.digits else "left"
        shown.add_column(column.title, justify=justify, overflow="fold", no_wrap=justify == "left")
    for row in table.cells():
        shown.add_row(*row)
    console.print(shown)


def _to_markdown(table: Table) -> str:
    head = "| " + " | ".join(column.title for column in table.columns) + " |"
    rule = "|" + "".join("---:|" if column.digits else "---|" for column in table.columns)
    return "\n".join([f"### {table.title}", "", head, rule, *("| " + " | ".join(row) + " |" for row in table.cells())])


def write_csv(path: Path, tables: Sequence[Table]) -> None:
    """Write all tables into one file, unrounded. Deviations and ends of intervals have columns of their own."""
    rows = [{"table": table.title} | _plain(table, row) for table in tables for row in table.rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _text(cell: Cell, digits: str) -> str:
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
