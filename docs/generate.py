"""Write the pages that say what the code says: `docs/settings.md` and `docs/log.md`.

python docs/generate.py
"""

import ast
import dataclasses
import inspect
import textwrap
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ascpo.algorithms import ALGORITHMS
from ascpo.cli.train import Train
from ascpo.runs.api import Options
from ascpo.training.metrics import COLUMNS, TIMES
from ascpo.training.settings import Settings

HERE = Path(__file__).parent
MADE = "<!-- Made by docs/generate.py from the code. Change that, and run it. -->\n"


def settings_page() -> str:
    """Every setting, its default, its meaning."""
    parts = [
        "# Settings",
        MADE,
        "Everything that `ascpo train` takes. Settings that all algorithms share and the chosen algorithm's own stand "
        'side by side: `--discount 0.95 --mode paper` on the command line, `discount=0.95, mode="paper"` in '
        '`ascpo.train(...)`. A setting of a group is `--target.share 0.9`, and in Python `target={"share": 0.9}`. '
        "Switches are `--carry` and `--no-carry`.",
        "## The run",
        *_tables(Train, skip=("method", "options", "settings")),
        "## What changes no number",
        *_tables(Options),
        "## Shared by all algorithms",
        *_tables(Settings),
        "## The algorithms' own",
    ]
    for name, kind in ALGORITHMS.items():
        parts += [f"### {name}", *(_tables(kind) if dataclasses.fields(kind) else ["None."])]
    return "\n\n".join(parts) + "\n"


def log_page() -> str:
    """Every column of the tables that a run writes."""
    return (
        "\n\n".join(
            [
                "# The log",
                MADE,
                "## metrics.csv",
                "A row an epoch, on disk as soon as the epoch is over. It is a function of the run's settings: the "
                "same bytes for the same `config.json` on the same machine, however often the run was stopped. Where "
                "there are several constraints, columns of one carry its name: `Nu_hazard`, `EpMaxCost_pillar`. What "
                "an algorithm does not have is `nan`, or not there.",
                _table(("column", "meaning"), [(f"`{name}`", meaning) for name, meaning in COLUMNS.items()]),
                "## timing.csv",
                "Seconds, which are never the same twice, have a table of their own.",
                _table(("column", "meaning"), [(f"`{name}`", meaning) for name, meaning in TIMES.items()]),
            ]
        )
        + "\n"
    )


def _tables(kind: type, prefix: str = "", skip: tuple[str, ...] = (), default: Any = None) -> list[str]:
    """One table of a dataclass's plain fields, then one for each field that is a dataclass itself."""
    hints, told = get_type_hints(kind), _docstrings(kind)
    rows, groups = [], []
    for field in dataclasses.fields(kind):
        if field.name in skip:
            continue
        flag, hint = prefix + field.name.replace("_", "-"), hints[field.name]
        if dataclasses.is_dataclass(hint):
            start = field.default if field.default is not dataclasses.MISSING else field.default_factory()  # pyright: ignore
            groups += [f"#### `--{flag}.…`: {told[field.name]}", *_tables(hint, f"{flag}.", default=start)]
        else:
            value = field.default if default is None else getattr(default, field.name)
            rows.append((f"`--{flag}`", _kind(hint), f"`{_shown(value)}`", told[field.name]))
    return ([_table(("flag", "kind", "default", "meaning"), rows)] if rows else []) + groups


def _docstrings(kind: type) -> dict[str, str]:
    """The text under each field."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # pyright: ignore[reportAttributeAccessIssue]
    out = {}
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            out[node.target.id] = " ".join(str(text).split())
    return out


def _kind(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(hint))
    if get_origin(hint) is tuple:
        return f"{_kind(get_args(hint)[0])}s"
    if type(None) in get_args(hint):
        return f"{_kind(next(kind for kind in get_args(hint) if kind is not type(None)))} or `None`"
    names = {float: "number", int: "whole number", bool: "switch", str: "text", Path: "path"}
    return names.get(hint, getattr(hint, "__name__", str(hint)))


def _shown(value: Any) -> Any:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else value


def _table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [titles, ("---",) * len(titles), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


PAGES = {"settings.md": settings_page, "log.md": log_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page())
