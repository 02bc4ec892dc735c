"""`ascpo completion`: print a script with which a shell completes commands and flags."""

import contextlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Literal

import tyro

from ascpo.cli.parsing import parsed

_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9.-]*[a-z0-9]")
_TABLE = re.compile(r"^[^\w\n]* (?:positional arguments|options) ", re.MULTILINE)
"""The head of the table of flags."""
_BASH = """\
_ascpo() {{
  local words= cur=${{COMP_WORDS[COMP_CWORD]}}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{commands}" -- "$cur"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  case $cur in
    -*) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
  esac
}}
complete -o default -F _ascpo ascpo
"""
_ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"
"""zsh runs completions of bash."""


@dataclass(frozen=True)
class Completion:
    """Print a script with which the shell completes commands and flags. docs/how-to/install.md says where to put it.

    Next: open a new shell, type `ascpo train --` and press Tab.
    """

    shell: Annotated[Literal["bash", "zsh"], tyro.conf.Positional]
    """The shell that reads the script."""


def main(words: list[str]) -> None:
    asked = parsed(Completion, words, "ascpo completion")
    from ascpo.cli.main import COMMANDS

    print(script(asked.shell, {command: flags_of(command) for command in COMMANDS}), end="")


def flags_of(command: str) -> list[str]:
    """The flags that the command's help names."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        import_module(f"ascpo.cli.{command.replace('-', '_')}").main(["--help"])
    # Below the words about the command, which may name flags of other commands.
    _, *listed = _TABLE.split(said.getvalue(), maxsplit=1)
    return sorted({"--help", *_FLAG.findall("".join(listed))})


def script(shell: str, flags: Mapping[str, Sequence[str]]) -> str:
    """The script for these commands and their flags."""
    cases = "\n".join(f'    {command}) words="{" ".join(found)}" ;;' for command, found in flags.items())
    return (_ZSH if shell == "zsh" else "") + _BASH.format(commands=" ".join(flags), cases=cases)
