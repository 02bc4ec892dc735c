"""Wrong command lines, and the help of commands with verbs."""

from collections.abc import Mapping

from ascpo.errors import nearest
from ascpo.ranges import shown


class WrongUsage(ValueError):
    """The command line is wrong, for example an unknown command. The exit status is 2."""


def no_verb(command: str, verb: str, verbs: Mapping[str, str]) -> WrongUsage:
    """The error for a verb that the command does not have."""
    advice = f"`ascpo {command} --help` describes all verbs."
    return WrongUsage(f"There is no verb {shown(verb)}. {nearest(verb, verbs)}\n{advice}")


def verbs_help(command: str, about: str, verbs: Mapping[str, str], below: str) -> str:
    """The help of a command with verbs."""
    listed = "\n".join(f"  {name:<7} {what}" for name, what in verbs.items())
    return f"{about}\n\nusage: ascpo {command} VERB ...\n\n{listed}\n\n{below}"
