"""`ascpo`: the verbs."""

import sys

import tyro

from ascpo.cli.train import Train, run
from ascpo.training.train import Broken


def main() -> None:
    """Parse the command line and do what it says. What a person can mend is answered with a sentence."""
    verb, *rest = sys.argv[1:] or ["--help"]
    if verb != "train":
        sys.exit("usage: ascpo train [--env …] [--algo …] [--seed …] [--total-steps …] [--out …]   (--help for all)")
    try:
        run(tyro.cli(Train, prog="ascpo train", args=rest))
    except (ValueError, OSError, Broken) as error:
        sys.exit(f"ascpo train: {error}")


if __name__ == "__main__":
    main()
