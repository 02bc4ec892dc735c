"""Write `src/ascpo/runs/keywords.py`: the types of the settings that `ascpo.train` takes by name.

python docs/keywords.py
"""

import dataclasses
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from ascpo.algorithms import ALGORITHMS
from ascpo.ranges import Declared, declared
from ascpo.runs.options import Options
from ascpo.training.settings import Settings

FILE = Path(__file__).parents[1] / "src/ascpo/runs/keywords.py"
_HEAD = '''\
"""The settings that `ascpo.train` takes by name, as types: editors complete them, and type checkers refuse others.

docs/keywords.py makes this file from the dataclasses of the settings. Change these, then run it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
{imports}

Numbers: TypeAlias = "float | list[float] | tuple[float, ...]"
Counts: TypeAlias = "int | list[int] | tuple[int, ...]"


'''
_RUN = {
    "engine": 'Literal["native", "mjx", "mjx-jax", "mjx-warp"]',
    "seeding": "Version",
    "max_episode_steps": "int | None",
    "final_policy": "PolicyKind | None",
    "validation_episodes": "int",
}
"""What decides a run beside the settings: further parameters of `configure`."""
_MODULES = {"Version": "ascpo.seeding", "PolicyKind": "ascpo.runs.source"}


def keywords_file() -> str:
    """The text of the file."""
    groups: dict[str, type] = {}
    shared, options = _types([Settings], groups), _types([Options], groups)
    own = _types(list(ALGORITHMS.values()), groups)
    nested: dict[str, str] = {}
    while missing := [name for name in groups if name not in nested]:
        for name in missing:
            nested[name] = _class(f"{name}Dict", f"Some of the settings of `{name}`.", _types([groups[name]], groups))
    modules = _MODULES | {name: kind.__module__ for name, kind in groups.items()}
    imports = "\n".join(f"    from {modules[name]} import {name}" for name in sorted(modules, key=_order(modules)))
    parts = [
        *(nested[name] for name in sorted(nested)),
        _class("OptionKeywords", "Options that change no number of a run.", options),
        _class("SharedKeywords", "The settings that all algorithms share.", shared),
        _class("AlgorithmKeywords", "The settings of the algorithms. Each algorithm has some of them.", own),
        _class("SettingKeywords", "All settings of a training.", {}, "SharedKeywords, AlgorithmKeywords"),
        _class("ConfigKeywords", "All that decides the numbers of a run.", _RUN, "SettingKeywords"),
        _class("TrainKeywords", "All settings and options of a training.", {}, "ConfigKeywords, OptionKeywords"),
    ]
    return _HEAD.format(imports=_joined(imports)) + "\n\n".join(parts)


def _types(kinds: list[type], groups: dict[str, type]) -> dict[str, str]:
    """Name → type. A name that several dataclasses have takes what any of them takes."""
    found: dict[str, list[str]] = {}
    for kind in kinds:
        for name, field in declared(kind).items():
            known = found.setdefault(name, [])
            known += [one for one in _written(field, groups) if one not in known]
    return {name: " | ".join(_merged(types)) for name, types in found.items()}


def _written(field: Declared, groups: dict[str, type]) -> list[str]:
    hint: Any = field.hint
    none = ["None"] if field.optional else []
    if dataclasses.is_dataclass(hint):
        name = hint.__name__
        groups[name] = hint
        return [name, f"{name}Dict", *none]
    if get_origin(hint) is tuple:
        return [{float: "Numbers", int: "Counts"}[get_args(hint)[0]], *none]
    if get_origin(hint) is Literal:
        return [*(f'Literal["{value}"]' for value in get_args(hint)), *none]
    return [hint.__name__, *none]


def _merged(types: list[str]) -> list[str]:
    """All literals as one."""
    literals = [one.removeprefix("Literal[").removesuffix("]") for one in types if one.startswith("Literal[")]
    others = [one for one in types if not one.startswith("Literal[") and one != "None"]
    return [*others, *([f"Literal[{', '.join(literals)}]"] if literals else []), *(["None"] if "None" in types else [])]


def _class(name: str, what: str, fields: dict[str, str], bases: str = "TypedDict") -> str:
    lines = [f"    {field}: {kind}" for field, kind in fields.items()]
    body = "\n".join([f'    """{what}"""', *([""] if lines else []), *lines])
    return f"class {name}({bases}, total=False):\n{body}\n"


def _order(modules: dict[str, str]) -> Any:
    return lambda name: (modules[name], name)


def _joined(imports: str) -> str:
    """Names of one module in one line."""
    names: dict[str, list[str]] = {}
    for line in imports.splitlines():
        start, name = line.split(" import ")
        names.setdefault(start, []).append(name)
    return "\n".join(f"{start} import {', '.join(found)}" for start, found in names.items())


if __name__ == "__main__":
    FILE.write_text(keywords_file())
