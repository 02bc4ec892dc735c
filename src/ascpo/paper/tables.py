"""Tables and pages as data, and their output: on the console, as Markdown, as CSV."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

from ascpo.evaluation.intervals import Interval
from ascpo.paper.claims import Assessment
from ascpo.paper.columns import OURS, PRINTED

Cell = str | int | float | Interval | tuple[float, float] | None
"""A pair is a mean with its standard deviation. None is an unknown value."""


@dataclass(frozen=True)
class Table:
    """Rows of cells under the titles of columns."""

    title: str
    columns: Mapping[str, str]
    """Title → the format of its numbers. A column without a format holds text."""
    rows: Sequence[Sequence[Cell]]

    def cells(self) -> list[list[str]]:
        return [list(map(_text, row, self.columns.values())) for row in self.rows]


@dataclass
class Page:
    """The content of the page of an experiment."""

    title: str
    last: int = 1
    """The number of epochs over which J_r and M_c are averaged."""
    notes: list[str] = field(default_factory=list)
    """Sentences above the tables."""
    tables: list[Table] = field(default_factory=list)
    claims: list[Assessment] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    """Sentences below the tables that summarise the columns."""
    pictures: list[Path] = field(default_factory=list)
    footnotes: list[str] = field(default_factory=list)

    def all_tables(self) -> list[Table]:
        """The tables, and one of the claims."""
        if not self.claims:
            return self.tables
        title = "Claims: the factor, or for returns the difference, with 95 % intervals"
        columns = {"claim": "", "ours": ".3g", PRINTED: ".3g", "verdict": ""}
        rows: list[Sequence[Cell]] = [(one.claim, one.ours, one.printed, one.verdict) for one in self.claims]
        if any(one.column != OURS for one in self.claims):
            title += ", for each column"
            columns = {"claim": "", "settings": "", "measured": ".3g", PRINTED: ".3g", "verdict": ""}
            # The columns of a claim stand below each other.
            order = list(dict.fromkeys(one.claim for one in self.claims))
            claims = sorted(self.claims, key=lambda one: order.index(one.claim))
            rows = [(one.claim, one.column, one.ours, one.printed, one.verdict) for one in claims]
        return [*self.tables, Table(title, columns, rows)]


_FINDINGS = "The columns compared"


def print_page(page: Page, console: Console) -> None:
    console.print(page.title, style="bold", markup=False)
    for note in page.notes:
        console.print(note, markup=False, soft_wrap=True)
    for table in page.all_tables():
        console.print()
        _print_table(table, console)
    console.print()
    if page.findings:
        console.print(_FINDINGS, style="bold")
    for note in [*page.findings, *page.footnotes, *(f"Figure: {picture}" for picture in page.pictures)]:
        console.print(note, markup=False, soft_wrap=True)


def page_to_markdown(page: Page) -> str:
    pictures = [f"![{page.title}]({picture})" for picture in page.pictures if picture.suffix == ".svg"]
    findings = [f"### {_FINDINGS}", "\n".join(f"* {one}" for one in page.findings)] if page.findings else []
    tables = map(_to_markdown, page.all_tables())
    parts = [f"## {page.title}", *page.notes, *tables, *findings, *page.footnotes, *pictures]
    return "\n\n".join(parts) + "\n"


def _print_table(table: Table, console: Console) -> None:
    cells = list(table.cells())
    for i, columns in enumerate(_blocks(list(table.columns), cells, console.width)):
        shown = RichTable(box=None, header_style="bold", padding=(0, 2, 0, 0), title_justify="left")
        shown.title = table.title if i == 0 else f"{table.title} (continued)"
        for title in columns:
            number = bool(table.columns[title])
            shown.add_column(title, justify="right" if number else "left", overflow="fold", no_wrap=number)
        places = [list(table.columns).index(title) for title in columns]
        for row in cells:
            shown.add_row(*(row[place] for place in places))
        console.print(shown)


def _blocks(titles: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    """The columns in blocks that fit next to each other. Every block begins with the first column, which names rows."""
    widths = [max(len(text) for text in column) + 2 for column in zip(titles, *cells, strict=True)]
    # A long text in the first column is wrapped.
    room = width - min(widths[0], width // 2)
    blocks, left = [[titles[0]]], room
    for title, needed in zip(titles[1:], widths[1:], strict=True):
        if needed > left and len(blocks[-1]) > 1:
            blocks.append([titles[0]])
            left = room
        blocks[-1].append(title)
        left -= needed
    return blocks


def _to_markdown(table: Table) -> str:
    head, *rows = (f"| {' | '.join(row)} |" for row in [list(table.columns), *table.cells()])
    rule = "|" + "".join("---:|" if digits else "---|" for digits in table.columns.values())
    return "\n".join([f"### {table.title}", "", head, rule, *rows])


def write_csv(path: Path, tables: Sequence[Table]) -> None:
    """Write all tables into one file, unrounded. Deviations and ends of intervals have their own columns."""
    write_rows(path, [{"table": table.title} | _plain(table, row) for table in tables for row in table.rows])


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(rows_text(rows), encoding="utf-8", newline="")


def rows_text(rows: Sequence[Mapping[str, object]]) -> str:
    """A table as the text of a CSV file. Its columns are those of any row."""
    names, text = list(dict.fromkeys(name for row in rows for name in row)), io.StringIO(newline="")
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


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
    for title, cell in zip(table.columns, row, strict=True):
        match cell:
            case Interval():
                out |= {title: cell.value, f"{title} low": cell.low, f"{title} high": cell.high}
            case (mean, spread):
                out |= {title: mean, f"{title} deviation": spread}
            case _:
                out[title] = "" if cell is None else cell
    return out
