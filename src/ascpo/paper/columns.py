"""The columns of a comparison: the settings of our runs, beside the figures that the paper prints."""

from typing import Literal, get_args

from ascpo.algorithms.presets import PRESETS, PresetName

Column = Literal["published", "released", "ours"]
COLUMNS: tuple[Column, ...] = get_args(Column)
OURS: Column = "ours"
PRINTED = "printed"
"""The title of the printed figures."""

MEANINGS: dict[Column, str] = {
    "published": "our runs with the settings that the paper states",
    "released": "our runs with the settings of the code that its authors released",
    "ours": "our runs with the defaults of this package, and the target probability of these experiments",
}
SETTINGS: dict[Column, str] = {
    "published": "the published settings",
    "released": "the released settings",
    "ours": "our settings",
}
"""How sentences name the columns."""


def preset_of(column: Column) -> PresetName | None:
    return None if column == "ours" else column


def trained_as(algo: str, column: Column) -> Column:
    """The column whose runs this column uses. Some algorithms have the same settings in both presets."""
    same = column == "released" and PRESETS["released"].get(algo) == PRESETS["published"].get(algo)
    return "published" if same else column


def about_columns() -> str:
    meanings = "; ".join(f"{column}: {meaning}" for column, meaning in MEANINGS.items())
    return f"Columns: {PRINTED}: the figures that the paper prints; {meanings}."


def enumerate_words(words: list[str], joint: str = "and") -> str:
    """a, b and c."""
    return f" {joint} ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
