"""What is shown of a table or a figure, before it is printed."""

from dataclasses import dataclass, field
from pathlib import Path

from ascpo.paper.claims import Judged
from ascpo.paper.tables import Column, Table


@dataclass
class Page:
    """All that is shown."""

    title: str
    last: int = 1
    """Epochs that J_r and M_c are the mean of."""
    notes: list[str] = field(default_factory=list)
    """Sentences above the tables."""
    tables: list[Table] = field(default_factory=list)
    claims: list[Judged] = field(default_factory=list)
    pictures: list[Path] = field(default_factory=list)
    footnotes: list[str] = field(default_factory=list)


def claims_table(judged: list[Judged]) -> Table:
    columns = (Column("claim"), Column("ours", ".3g"), Column("published", ".3g"), Column("verdict"))
    rows = [(one.words, one.ours, one.published, one.verdict) for one in judged]
    return Table("Claims: by which factor, of returns by how much; with 95 % intervals", columns, rows)
