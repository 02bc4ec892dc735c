"""Tables for notebooks, as data frames and as HTML. pandas is optional."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

Table = Mapping[str, Sequence[object]]
"""Columns of the same length, by name."""
Columns: TypeAlias = dict[str, list[Any]]
"""Columns as lists, as users get them."""
DataFrame: TypeAlias = Any
"""A pandas.DataFrame. pandas is imported only where one is made."""


def data_frame(columns: Mapping[str, Sequence[object] | np.ndarray]) -> DataFrame:
    """A pandas.DataFrame of these columns."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise ValueError(
            "A data frame needs pandas, which is not installed: pip install pandas. The same columns are available as "
            "a dictionary of arrays."
        ) from None
    return pandas.DataFrame(dict(columns))


def html_table(title: str, columns: Table, notes: Sequence[str] = ()) -> str:
    """A table in plain HTML. All text is escaped, since the files of a run may come from anybody."""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
    rows = zip(*columns.values(), strict=True)
    body = "".join("<tr>" + "".join(f"<td>{escape(shown(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return (
        f"<div><p><strong>{escape(title)}</strong></p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        f"</table>{below}</div>"
    )


def shown(value: object) -> str:
    """The text of a cell."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
