"""Kill a training at random moments, resume it each time, and compare it with one that was never stopped.

    python -m benchmarks.survival --kills 10

Both must end with the same bytes in `metrics.csv` and the same parameters.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ascpo.runs.directory import find
from ascpo.runs.trained_policy import read_policy

SMALL = """--num-envs 4 --horizon 200 --hidden 16 16 --value-fit.iterations 8 --value-fit.batch-size 64
--cost-fit.iterations 8 --cost-fit.batch-size 64 --evaluate 0 --checkpoint-every 0""".split()  # noqa: SIM905
"""Epochs take a fraction of a second, with a checkpoint after each, so that a kill often hits one being written."""
_EPOCH = 800
_PATIENCE = 300


def survive(env: str, kills: int, out: Path, seed: int = 0) -> tuple[Path, Path, list[int]]:
    """The directories of an undisturbed and of a killed run, and the epochs after which it was killed."""
    rng = random.Random(seed)
    epochs = 3 * kills + 5
    train = ["train", "--env", env, "--total-steps", str(epochs * _EPOCH), *SMALL]
    subprocess.run([*_ascpo(), *train, "--out", str(out), "--name", "whole"], check=True, stdout=subprocess.DEVNULL)
    killed, words, moments = out / "killed", [*train, "--out", str(out), "--name", "killed"], []
    for _ in range(kills):
        process = subprocess.Popen([*_ascpo(), *words], stdout=subprocess.DEVNULL)
        _wait_for(killed, _rows(killed) + rng.randint(0, 2), process)
        time.sleep(rng.uniform(0.0, 0.5))
        process.kill()
        if process.wait() != -signal.SIGKILL:
            raise RuntimeError(f"The training ended by itself after {_rows(killed)} epochs.")
        moments.append(_rows(killed))
        if (killed / "config.json").exists():
            words = ["train", "--resume", str(killed), "--env", env, "--evaluate", "0", "--checkpoint-every", "0"]
    subprocess.run([*_ascpo(), *words], check=True, stdout=subprocess.DEVNULL)
    return out / "whole", killed, moments


def same(first: Path, second: Path) -> dict[str, bool]:
    """What is equal, bit for bit."""
    one, other = find(first), find(second)
    return {
        "metrics.csv": one.metrics.read_bytes() == other.metrics.read_bytes(),
        "parameters": bool((read_policy(first).theta == read_policy(second).theta).all()),
    }


def _ascpo() -> list[str]:
    return [sys.executable, "-m", "ascpo.cli.main"]


def _rows(directory: Path) -> int:
    table = directory / "metrics.csv"
    return max(table.read_bytes().count(b"\n") - 1, 0) if table.exists() else 0


def _wait_for(directory: Path, rows: int, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the run has so many rows."""
    began = time.monotonic()
    while process.poll() is None and time.monotonic() - began < _PATIENCE:
        if _rows(directory) >= max(rows, 1):
            return
        time.sleep(0.02)


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--kills", type=int, default=10)
    asked.add_argument("--envs", nargs="+", default=["Point-1-Pillar", "Drone-4-3DHazard", "examples.pendulum:make"])
    words = asked.parse_args()
    print(f"{'environment':<24} kills  after epochs                          equal")
    for env in words.envs:
        with tempfile.TemporaryDirectory() as out:
            whole, killed, moments = survive(env, words.kills, Path(out))
            equal = ", ".join(name for name, is_equal in same(whole, killed).items() if is_equal) or "NOTHING"
        print(f"{env:<24} {len(moments):>5}  {' '.join(map(str, moments)):<38}  {equal}", flush=True)


if __name__ == "__main__":
    os.chdir(Path(__file__).parents[1])
    main()
