"""Seconds from typing a command to its answer: the help of every command, all lists, and typical mistakes.

python -m benchmarks.startup [--before CHECKOUT]

The best of several tries, once as the clock says and once as the processor does. The second one is what a machine that
others use can say. `--before` measures another checkout too, with the packages of this environment.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ascpo.cli.main import COMMANDS

LISTS = (
    ("--help",),
    ("--version",),
    ("list", "algorithms"),
    ("list", "suites"),
    ("zoo", "list"),
    ("zoo", "show", "Point-1-Hazard"),
    ("paper", "list"),
    ("cache", "show"),
    ("train", "--show"),
    ("completion", "bash"),
)
MISTAKES = (
    ("trian",),
    ("train", "--gamma", "1"),
    ("train", "--env", "Pont-8-Hazard"),
    ("train", "--env", "SafetyPointGoal1-v0"),
    ("train", "--env", "math:nothing"),
    ("train", "--algo", "ascp"),
    ("train", "--resume", "nowhere"),
    ("train", "--nothing"),
    ("train", "--num-envs", "0"),
    ("check", "Pont-8-Hazard"),
    ("evaluate", "nowhere"),
    ("evaluate", "sb3:missing.zip", "--env", "Point-8-Hazard"),
    ("certify", "nowhere"),
    ("certify", "zoo:Pont-8-Hazard"),
    ("certify", "sb3:missing.zip", "--env", "Point-8-Hazard"),
    ("certify", "onnx:missing.onnx", "--env", "Point-8-Hazard"),
    ("certify", "python:math:nothing", "--env", "Point-8-Hazard"),
    ("certify", "python:math:sin", "--env", "Pont-8-Hazard"),
    ("certify", "python:math:sin"),
    ("report", "nowhere"),
    ("journal", "nowhere"),
    ("replay", "nowhere"),
    ("video", "nowhere"),
    ("export", "nowhere"),
    ("list", "runs", "nowhere"),
    ("watch", __file__),
    ("sweep", "--set", "nothing=1"),
    ("sweep", "status", "nowhere"),
    ("hosts", "--env", "Pont-8-Hazard"),
    ("tune", "--env", "Pont-8-Hazard"),
    ("zoo", "show", "Pont-8-Hazard"),
    ("paper", "show", "nothing"),
    ("cache", "unpack", "missing.tar"),
    ("new-env", "1st"),
)
HELP = tuple((command, "--help") for command in COMMANDS)
TRIES = 3


def seconds(words: tuple[str, ...], place: str, source: Path | None) -> tuple[float, float]:
    """Of the clock and of the processor, both the least of several tries."""
    paths = {"PYTHONPATH": str(source / "src")} if source else {}
    found = list[tuple[float, float]]()
    for _ in range(TRIES):
        began, before = time.perf_counter(), os.times()
        typed = [sys.executable, "-m", "ascpo", *words]
        subprocess.run(typed, cwd=place, env=os.environ | paths, capture_output=True, check=False)
        after = os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        found.append((time.perf_counter() - began, used))
    clock, processor = zip(*found, strict=True)
    return min(clock), min(processor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--before", type=Path, help="the root of another checkout")
    given = parser.parse_args()
    sources = [given.before.absolute(), None] if given.before else [None]
    titles = [f"{kind}{when}" for when in (" before", " now")[-len(sources) :] for kind in ("seconds", "processor")]
    print(f"| command | {' | '.join(titles)} |\n|---|{'---|' * len(titles)}")
    with tempfile.TemporaryDirectory() as place:
        for words in (*LISTS, *HELP, *MISTAKES):
            figures = [one for source in sources for one in seconds(words, place, source)]
            typed = " ".join(Path(word).name if "/" in word else word for word in words)
            print(f"| `ascpo {typed}` | {' | '.join(f'{one:.2f}' for one in figures)} |", flush=True)


if __name__ == "__main__":
    main()
