"""`ascpo`: the verbs. Each is imported when it is asked for, so that help comes at once."""

import os
import sys
from importlib import import_module

_VERBS = {
    "train": "train a policy, or go on with a run",
    "evaluate": "judge a run's policy on fresh episodes",
    "certify": "bound the probability that a policy stays within its limits, or repeat a certificate",
    "report": "make a page of curves, distributions and settings, of one run or of several",
    "journal": "tell what the optimiser did, epoch by epoch",
    "replay": "play the worst episodes in the browser",
    "video": "make a film of a bad episode",
    "paper": "reproduce the paper's tables and figures",
    "check": "find out whether an environment can be trained on",
    "list": "show algorithms, suites or runs",
}


def main() -> None:
    """Do what the command line says. What a person can mend is answered with a sentence."""
    verb, *rest = sys.argv[1:] or ["--help"]
    if verb in ("-h", "--help", "help"):
        print(_help())
    elif verb in ("--version", "version"):
        from importlib.metadata import version

        print(version("ascpo"))
    elif verb in _VERBS:
        _do(verb, rest)
    else:
        from ascpo.runs.serialization import nearest

        sys.exit(f"ascpo: there is no {verb!r}. {nearest(verb, _VERBS)}\n\n{_help()}")


def _do(verb: str, rest: list[str]) -> None:
    try:
        import_module(f"ascpo.cli.{verb}").main(rest)
    except BrokenPipeError:
        # Whoever reads has seen enough. What is still to be written goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        # Not before: it brings JAX along, which not every verb needs.
        from ascpo.runs.errors import MENDABLE

        if not isinstance(error, MENDABLE):
            raise
        sys.exit(f"ascpo {verb}: {error}")


def _help() -> str:
    verbs = "\n".join(f"  {name:<10} {what}" for name, what in _VERBS.items())
    return (
        "Policies that keep every state of an episode within its cost limit, with high probability.\n\n"
        f"usage: ascpo VERB ...\n\n{verbs}\n\n"
        "  ascpo train --env Point-8-Hazard --algo ascpo --seed 0 --total-steps 6e6 --out runs\n\n"
        "ascpo VERB --help tells the rest."
    )


if __name__ == "__main__":
    main()
