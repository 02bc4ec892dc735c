"""Compare trainings with the native engine and with MJX: learning curves of both, in one table.

    ascpo train --env Ant-8-Hazard --probability 0.999 --num-envs 240 --horizon 125 --total-steps 6e6 --out DIR
    python -m benchmarks.engines DIR

The runs of the directory, finished or not, are compared with the kept curves of the paper's main table, which are those
of MJX with the same settings. --keep writes their curves into a file.
"""

import csv
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ascpo.runs.directory import RunDirectory
from ascpo.runs.tables import read_table

HERE = Path(__file__).parent / "results"
FIGURES = {"J_r": "EpRet", "M_c": "EpCost", "violations": "SafeRate", "timeouts": "TimeoutRate"}
"""Of the kept curves, and the columns of a log that they come from."""
Curve = dict[int, dict[str, float]]
"""By steps."""


def native_curve(run: RunDirectory, steps: Sequence[int]) -> Curve:
    """Means of the log since the point before, as those of the kept curves."""
    log, per_epoch = read_table(run.metrics), _steps_per_epoch(run)
    found: Curve = {}
    for before, at in zip((0, *steps), steps, strict=False):
        rows = slice(before // per_epoch, at // per_epoch)
        if at // per_epoch > len(log["EpRet"]):
            break
        means = {name: float(np.nanmean(log[column][rows])) for name, column in FIGURES.items()}
        found[at] = means | {"violations": 1.0 - means["violations"]}
    return found


def kept_curves(folder: Path) -> dict[str, dict[int, Curve]]:
    """ASCPO's curves by suite and seed."""
    found: dict[str, dict[int, Curve]] = defaultdict(lambda: defaultdict(dict))
    with (folder / "curves.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["algorithm"] == "ascpo" and row["settings"] == "ours":
                figures = {name: float(row[name] or "nan") for name in FIGURES}
                found[row["suite"]][int(row["seed"])][int(row["steps"])] = figures
    return found


def table(native: dict[str, Curve], kept: dict[str, dict[int, Curve]], at: Sequence[int]) -> list[str]:
    lines = ["| suite | steps | engine | " + " | ".join(FIGURES) + " |", "|---" * (3 + len(FIGURES)) + "|"]
    for suite, curve in native.items():
        for steps in (one for one in at if one in curve):
            lines.append(_row(suite, steps, "native", [curve[steps]]))
            lines.append(_row(suite, steps, "mjx", [one[steps] for one in kept[suite].values() if steps in one]))
    return lines


def _row(suite: str, steps: int, engine: str, seeds: Sequence[dict[str, float]]) -> str:
    columns = (sorted(one[name] for one in seeds) for name in FIGURES)
    ranges = (f"{each[0]:.3g}" if len(each) == 1 else f"{each[0]:.3g} to {each[-1]:.3g}" for each in columns)
    return f"| {suite} | {steps / 1e6:.2f} M | {engine}, {len(seeds)} | " + " | ".join(ranges) + " |"


def _steps_per_epoch(run: RunDirectory) -> int:
    settings = run.config().settings
    return settings.num_envs * settings.horizon


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("runs", type=Path)
    parser.add_argument("--kept", type=Path, default=HERE / "q1")
    parser.add_argument("--at", type=float, nargs="+", default=[0.6e6, 0.9e6, 1.2e6, 1.5e6, 3e6, 6e6])
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    kept = kept_curves(asked.kept)
    native: dict[str, Curve] = {}
    for run in map(RunDirectory, sorted(file.parent for file in asked.runs.glob("*/config.json"))):
        suite = run.config().env
        if run.metrics.exists() and suite in kept:
            native[suite] = native_curve(run, sorted(next(iter(kept[suite].values()))))
    print("\n".join(table(native, kept, [int(one) for one in asked.at])))
    if asked.keep:
        with asked.keep.open("w", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["suite", "steps", *FIGURES])
            for suite, curve in native.items():
                rows.writerows(
                    [suite, steps, *(f"{one[name]:.5g}" for name in FIGURES)] for steps, one in curve.items()
                )


if __name__ == "__main__":
    main()
