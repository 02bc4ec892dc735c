"""A command line that cannot be read, and commands that have verbs."""

from collections.abc import Mapping

from ascpo.errors import nearest
from ascpo.ranges import shown


class WrongUsage(ValueError):
    """An unknown command, or the like: exit status 2."""


def no_verb(command: str, verb: str, verbs: Mapping[str, str]) -> WrongUsage:
    """The answer to a verb that a command does not have."""
    advice = f"`ascpo {command} --help` describes all verbs."
    return WrongUsage(f"There is no {shown(verb)}. {nearest(verb, verbs)}\n{advice}")


def verbs_help(command: str, about: str, verbs: Mapping[str, str], below: str) -> str:
    """The help of a command that has verbs."""
    listed = "\n".join(f"  {name:<7} {what}" for name, what in verbs.items())
    return f"{about}\n\nusage: ascpo {command} VERB ...\n\n{listed}\n\n{below}"
