"""`ascpo`: the commands. Each is imported when it is called, so that help comes at once."""

import os
import sys
from importlib import import_module

from ascpo.cli.printable import printable

_COMMANDS = {
    "train": "train a policy, or continue a run",
    "evaluate": "evaluate a run's policy on fresh episodes",
    "certify": "bound the probability that a policy stays within its limits, or repeat a certificate",
    "report": "write a page with the curves, distributions and settings of one or several runs",
    "journal": "describe what the optimiser did, epoch by epoch",
    "replay": "play the worst episodes in the browser",
    "video": "make a video of a bad episode",
    "paper": "reproduce the paper's tables and figures",
    "check": "test whether an environment can be trained on",
    "list": "list algorithms, suites or runs",
}


def main() -> None:
    """Run the command line. Errors that a person can mend are answered with a sentence."""
    command, *rest = sys.argv[1:] or ["--help"]
    if command in ("-h", "--help", "help"):
        print(_help())
    elif command in ("--version", "version"):
        from importlib.metadata import version

        print(version("ascpo"))
    elif command in _COMMANDS:
        _run(command, rest)
    else:
        from ascpo.errors import nearest
        from ascpo.ranges import shown

        sys.exit(f"ascpo: there is no command {shown(command)}. {nearest(command, _COMMANDS)}\n\n{_help()}")


def _run(command: str, rest: list[str]) -> None:
    try:
        import_module(f"ascpo.cli.{command}").main(rest)
    except BrokenPipeError:
        # The reader has closed the pipe. The rest of the output goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        # Imported here because it imports JAX, which some commands do not need.
        from ascpo.runs.errors import MENDABLE

        if not isinstance(error, MENDABLE):
            raise
        sys.exit(f"ascpo {command}: {printable(str(error))}")


def _help() -> str:
    commands = "\n".join(f"  {name:<10} {what}" for name, what in _COMMANDS.items())
    return (
        "Policies that keep every state of an episode within its cost limit, with high probability.\n\n"
        f"usage: ascpo COMMAND ...\n\n{commands}\n\n"
        "  ascpo train --env Point-8-Hazard --algo ascpo --seed 0 --total-steps 6e6 --out runs\n\n"
        "`ascpo COMMAND --help` describes all flags of a command."
    )


if __name__ == "__main__":
    main()
