"""Tables of a dataclass's fields: flag, kind, default and the docstring under the field."""

import ast
import dataclasses
import inspect
import textwrap
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import tyro

from ascpo.ranges import Declared, Range, declared


def tables(kind: type, prefix: str = "", skip: tuple[str, ...] = (), default: Any = None) -> list[str]:
    """One table of a dataclass's plain fields, then one for each field that is a dataclass itself."""
    rows, groups = _collected(kind, prefix, skip, default)
    return ([table(("flag", "kind", "default", "meaning"), rows)] if rows else []) + groups


def _collected(kind: type, prefix: str, skip: tuple[str, ...], default: Any) -> tuple[list[tuple[str, ...]], list[str]]:
    known, told, hints = declared(kind), docstrings(kind), get_type_hints(kind, include_extras=True)
    rows, groups = [], []
    for field in dataclasses.fields(kind):
        if field.name in skip:
            continue
        flag, hint = prefix + _name(field.name, hints[field.name]).replace("_", "-"), known[field.name].hint
        value = _default(field) if default is None else getattr(default, field.name)
        if not dataclasses.is_dataclass(hint):
            rows.append((_typed(flag, hints[field.name]), _allowed(known[field.name]), _given(value), told[field.name]))
        elif _is_nameless(hints[field.name]):
            more, below = _collected(hint, prefix, (), None if value is dataclasses.MISSING else value)
            rows, groups = rows + more, groups + below
        else:
            groups += [f"#### `--{flag}.…`: {told[field.name]}", *tables(hint, f"{flag}.", default=value)]
    return rows, groups


def _default(field: dataclasses.Field) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _given(value: Any) -> str:
    if value is dataclasses.MISSING:
        return "must be given"
    return f"`{shown(value)}`" if value not in ("", ()) else "empty"


def _name(field: str, hint: Any) -> str:
    """The name on the command line, which may differ from that of the field."""
    given = (getattr(mark, "name", None) for mark in _marks(hint))
    return next(filter(None, given), field)


def _typed(flag: str, hint: Any) -> str:
    """How one types it. A positional word has no flag."""
    positional = get_args(tyro.conf.Positional[int])[1:]
    if not set(positional) & set(_marks(hint)):
        return f"`--{flag}`"
    return f"`{next(filter(None, (getattr(mark, 'metavar', None) for mark in _marks(hint))), flag.upper())}`"


def _is_nameless(hint: Any) -> bool:
    """Whether the fields of a group have no prefix on the command line."""
    return any(getattr(mark, "name", None) == "" for mark in _marks(hint))


def _marks(hint: Any) -> tuple[Any, ...]:
    return getattr(hint, "__metadata__", ())


def docstrings(kind: type) -> dict[str, str]:
    """The text under each field, inherited ones included."""
    out: dict[str, str] = {}
    for base in kind.__bases__:
        out |= docstrings(base) if "__dataclass_fields__" in vars(base) else {}
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            out[node.target.id] = " ".join(str(text).split())
    return out


def _allowed(field: Declared) -> str:
    """The kind of a setting, and the values that it may have."""
    free = field.bounds is None or vars(field.bounds) == vars(Range(items=field.bounds.items))
    kind = _kind(field.hint) if free else f"{_kind(field.hint)} {field.bounds}"
    return f"{kind} or `None`" if field.optional else kind


def _kind(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(hint))
    if get_origin(hint) is tuple:
        item = get_args(hint)[0]
        if get_origin(item) is tuple:
            return _kind(item)
        return f"one or more of {_kind(item)}" if get_origin(item) else f"{_kind(item)}s"
    names = {float: "number", int: "whole number", bool: "switch", str: "text", Path: "path"}
    return names.get(hint, getattr(hint, "__name__", str(hint)))


def shown(value: Any) -> Any:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else value


def table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [titles, ("---",) * len(titles), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
