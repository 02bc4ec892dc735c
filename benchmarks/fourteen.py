"""The table of all fourteen algorithms on Point-8-Hazard, from the runs kept in `benchmarks/results/fourteen`.

    python -m benchmarks.fourteen

Each run: ascpo train --env Point-8-Hazard --algo NAME --seed 0 --total-steps 3e6 --evaluate 1000
"""

import json
from pathlib import Path

import numpy as np

from ascpo.algorithms import ALGORITHMS
from ascpo.paper.printed import MEASURES, printed
from ascpo.runs.tables import read_table

RESULTS = Path(__file__).parent / "results" / "fourteen"
LAST = 10
"""The figures of a training are means of this many last epochs."""


def main() -> None:
    print(
        "| algorithm | J_r | M_c | largest | safe | time-outs | 10⁴ρ_c | fresh: J_r | M_c | largest | its 95 % | safe "
        "| s / epoch | paper, 6 M: J_r / M_c / 10⁴ρ_c |"
    )
    print("|" + "---|" * 14)
    for algo in ALGORITHMS:
        run = RESULTS / f"Point-8-Hazard-{algo}-seed0"
        log, times = read_table(run / "metrics.csv"), read_table(run / "timing.csv")
        last = {name: float(column[-LAST:].mean()) for name, column in log.items()}
        seconds = np.median(np.sum([column for name, column in times.items() if name.startswith("Time")], axis=0)[2:])
        cells = [f"{last['EpRet']:.3f}", f"{last['EpCost']:.3f}", f"{last['EpMaxCost']:.4f}", f"{last['SafeRate']:.1%}"]
        cells += [f"{last['TimeoutRate']:.1%}", f"{1e4 * log['CostRate'][-1]:.1f}", *_fresh(run), f"{seconds:.2f}"]
        paper = " / ".join(_printed(algo))
        print(f"| {algo} | " + " | ".join(cells) + f" | {paper} |")


def _printed(algo: str) -> list[str]:
    """J_r, M_c and 10⁴ρ_c after 6 million steps."""
    found = printed().get(("Point-8-Hazard", algo))
    return [f"{found.of(one) * one.scale:.4g}" for one in MEASURES] if found else ["–"]


def _fresh(run: Path) -> list[str]:
    if not (run / "evaluation.json").exists():
        return ["–"] * 5
    found = json.loads((run / "evaluation.json").read_text())["sampled"]
    return [
        f"{found['EpRet']:.3f}",
        f"{found['EpCost']:.3f}",
        f"{found['EpMaxCost']:.4f}",
        f"{found['EpMaxCost95']:.3f}",
        f"{found['SafeRate']:.1%}",
    ]


if __name__ == "__main__":
    main()
