"""Measure the level at which feedback settles: does training hold its target?

python -m benchmarks.level train --env Point-4-Hazard --algo ascpo --probability 0.98 --seeds 0..7 --out level
python -m benchmarks.level train --env Point-8-Hazard-Indicator --algo cpo --limits 25 --seeds 0,1 --out level
python -m benchmarks.level show level --csv level.csv

`train` trains seeds at the same time; flags that it does not know are those of `ascpo train`. `show` gives, for every
directory of seeds, the mean of the last 50 epochs against the target: the mean cost of an episode against the limit if
limits bound an episode's sum, and otherwise the share of violating episodes against the set point of the feedback.
"""

import argparse
import csv
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from ascpo.runs.directory import RunDirectory
from ascpo.runs.tables import read_table

LAST = 50


def train(out: Path, name: str, words: list[str]) -> None:
    """Train seeds into a directory of their own."""
    typed = [sys.executable, "-m", "ascpo.cli.main", "train", *words, "--out", str(out / name), "--evaluate", "0"]
    sys.exit(subprocess.run(typed, check=False).returncode)


def measured(run: RunDirectory) -> dict[str, float]:
    """What a run aims at, and its means over the last epochs, weighted by their episodes."""
    rows, config = read_table(run.metrics), run.config()
    last = {name: column[-LAST:] for name, column in rows.items()}
    weight = last["Episodes"] / last["Episodes"].sum()
    mean = {name: float(weight @ last[name]) for name in ("EpRet", "EpCost", "EpMaxCost", "SafeRate", "TimeoutRate")}
    algorithm = config.algorithm()
    if algorithm.limits_on == "episode" and any(config.settings.limits):
        aim, level = config.settings.limits[0], mean["EpCost"]
    else:
        aim, level = getattr(algorithm.target, "allowed", 1.0 - config.settings.probability), 1.0 - mean["SafeRate"]
    return {"epochs": len(rows["Epoch"]), "aim": aim, "level": level, "seed": config.seed, **mean}


def show(out: Path, to: Path | None) -> None:
    groups = defaultdict(list)
    for file in sorted(out.glob("*/*/metrics.csv")):
        run = RunDirectory(file.parent)
        groups[run.path.parent.name].append(measured(run))
    print("| runs | seeds | aim | level | level / aim, worst seeds | J_r | time-outs |\n|---|---|---|---|---|---|---|")
    for name, runs in groups.items():
        level, aim = np.array([run["level"] for run in runs]), runs[0]["aim"]
        reward, late = (np.mean([run[column] for run in runs]) for column in ("EpRet", "TimeoutRate"))
        spread = f"{level.mean() / aim:.2f}, {level.min() / aim:.2f} to {level.max() / aim:.2f}"
        print(
            f"| {name} | {len(runs)} | {aim:.4g} | {level.mean():.4g} | {spread} | {reward:.3f} | {100 * late:.2f} % |"
        )
    if to:
        rows = [{"runs": name, **run} for name, runs in groups.items() for run in runs]
        with to.open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows({key: f"{x:.6g}" if isinstance(x, float) else x for key, x in row.items()} for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    training = verbs.add_parser("train")
    training.add_argument("--out", type=Path, required=True)
    training.add_argument("--name", help="the directory of these seeds; the default is made of the flags")
    showing = verbs.add_parser("show")
    showing.add_argument("out", type=Path)
    showing.add_argument("--csv", type=Path)
    args, words = parser.parse_known_args()
    if args.verb == "show":
        show(args.out, args.csv)
    else:
        plain = (word.removeprefix("--") for word in words)
        train(args.out, args.name or "-".join(plain).replace("/", "-"), words)


if __name__ == "__main__":
    main()
