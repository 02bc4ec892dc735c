"""`ascpo`: the verbs."""

import sys

import tyro

from ascpo.cli.train import Train, run


def main() -> None:
    """Parse the command line and do what it says."""
    verb, *rest = sys.argv[1:] or ["--help"]
    if verb != "train":
        sys.exit("usage: ascpo train [--env …] [--algo …] [--seed …] [--total-steps …] [--out …]   (--help for all)")
    run(tyro.cli(Train, prog="ascpo train", args=rest))


if __name__ == "__main__":
    main()
