"""`ascpo new-env NAME`: write a template of an environment, and its test."""

import shlex
from dataclasses import dataclass
from importlib import resources
from keyword import iskeyword
from pathlib import Path
from typing import Annotated

import tyro

from ascpo.cli.parsing import parsed
from ascpo.ranges import shown
from ascpo.runs.files import write_together
from ascpo.runs.serialization import BadSetting


@dataclass(frozen=True)
class NewEnv:
    """Write NAME.py, a commented template of an environment, and test_NAME.py.

    Next: put your robot and its limits in place of the example, then `ascpo check NAME:make` and `ascpo train --env
    NAME:make`.
    """

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """The name of the module: letters, digits and underscores."""
    out: Path = Path(".")
    """The directory of the two files."""


def main(words: list[str]) -> None:
    asked = parsed(NewEnv, words, "ascpo new-env")
    name = asked.name
    if not (name.isidentifier() and name.isascii()) or iskeyword(name):
        raise BadSetting(f"{shown(name)} cannot be the name of a Python module. Use letters, digits and underscores.")
    title = "".join(part.capitalize() for part in name.split("_")) or "NewEnv"
    files = {asked.out / f"{start}{name}.py": _text(start, name, title) for start in ("", "test_")}
    for file in files:
        if file.exists():
            raise BadSetting(f"{file} exists already. Choose another name, or another --out.")
    asked.out.mkdir(parents=True, exist_ok=True)
    write_together(files)
    first, second = files
    # Modules are found in the directory in which a command runs.
    there = "" if asked.out.resolve() == Path.cwd().resolve() else f"cd {shlex.quote(str(asked.out))} && "
    print(f"Environment: {first}\nIts test: python -m pytest {shlex.quote(str(second))}")
    print(f"Check it: {there}ascpo check {name}:make")
    print(f"Train: {there}ascpo train --env {name}:make --num-envs 8 --horizon 250")


def _text(start: str, name: str, title: str) -> str:
    ending = "txt" if start else "py"
    source = resources.files("ascpo.templates").joinpath(f"{start}new_env.{ending}").read_text(encoding="utf-8")
    return source.replace("new_env", name).replace("NewEnv", title)
