"""Seconds from typing a command to its answer: help, and answers to mistyped words. The best of several tries.

python -m benchmarks.startup
"""

import subprocess
import sys
import tempfile
import time

COMMANDS = (
    ("--help",),
    ("list", "suites"),
    ("evaluate", "--help"),
    ("train", "--help"),
    ("sweep", "--help"),
    ("tune", "--help"),
    ("paper", "run", "--help"),
    ("train", "--gamma", "1"),
    ("train", "--env", "Pont-8-Hazard"),
    ("train", "--algo", "ascp"),
    ("train", "--resume", "nowhere"),
    ("train", "--nothing"),
    ("check", "Pont-8-Hazard"),
    ("evaluate", "nowhere"),
    ("certify", "nowhere"),
    ("report", "nowhere"),
)
TRIES = 5


def seconds(words: tuple[str, ...], place: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "ascpo.cli.main", *words], cwd=place, capture_output=True, check=False)
    return time.perf_counter() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        for words in COMMANDS:
            best = min(seconds(words, place) for _ in range(TRIES))
            print(f"| `ascpo {' '.join(words)}` | {best:.2f} |", flush=True)


if __name__ == "__main__":
    main()
