"""The tables and the figure of `RESULTS.md`'s chapter on learning, from the runs kept in `benchmarks/results/`.

    python -m benchmarks.learning

To repeat the runs, use the commands in `benchmarks/results/README.md`. Then `python -m benchmarks.learning --keep
runs/NAME …` copies the files that matter.
"""

import argparse
import csv
import json
import shutil
from collections import defaultdict
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from ascpo.paper.printed import printed

RESULTS = Path(__file__).parent / "results"
LAST = 10
COLUMNS = ("EpRet", "EpCost", "EpMaxCost", "SafeRate", "TimeoutRate", "EpLen", "CostRate", "EVReward", "EVCost")


def read(run: Path) -> dict[str, np.ndarray]:
    with (run / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def label(run: Path) -> str:
    config = json.loads((run / "config.json").read_text())
    return config["algo"] + (f"-{config['ascpo']['mode']}" if config["algo"] == "ascpo" else "")


def table(group: str) -> None:
    runs = defaultdict(list)
    for run in sorted((RESULTS / group).iterdir()):
        if (run / "metrics.csv").exists():
            runs[label(run)].append(run)
    print(f"\n### {group}\n")
    print("| algorithm | seed | J_r | M_c | mean max | safe | timeouts | length | ρ_c | EV reward | EV cost | "
          "fresh: J_r | M_c | safe | timeouts | paper J_r / M_c / ρ_c |")  # fmt: skip
    print("|" + "---|" * 16)
    for name, found in runs.items():
        paper = printed()["Point-8-Hazard", name.split("-")[0]]
        for run in found:
            columns, seed = read(run), json.loads((run / "config.json").read_text())["seed"]
            last = {name: np.nanmedian(x[-LAST:]) if name.startswith("EV") else x[-LAST:].mean() for name, x in columns.items() if name in COLUMNS}  # fmt: skip  # noqa: E501
            fresh = json.loads((run / "evaluation.json").read_text())["sampled"]
            print(
                f"| {name} | {seed} | {last['EpRet']:.3f} | {last['EpCost']:.3f} | {last['EpMaxCost']:.4f} "
                f"| {last['SafeRate']:.1%} | {last['TimeoutRate']:.1%} | {last['EpLen']:.0f} "
                f"| {columns['CostRate'][-1]:.5f} | {last['EVReward']:.2f} | {last['EVCost']:.2f} "
                f"| {fresh['EpRet']:.3f} | {fresh['EpCost']:.3f} | {fresh['SafeRate']:.1%} "
                f"| {fresh['TimeoutRate']:.1%} | {' / '.join(map(str, paper))} |"
            )


def figure(path: Path) -> None:
    shown = (("EpRet", "return J_r"), ("EpCost", "cost of an episode M_c"), ("SafeRate", "episodes without cost"),
             ("TimeoutRate", "episodes that time out"))  # fmt: skip
    _, axes = plt.subplots(2, 2, figsize=(11, 7), constrained_layout=True)
    runs = defaultdict(list)
    for group in ("three-million", "six-million"):
        for run in sorted((RESULTS / group).iterdir()):
            if (run / "metrics.csv").exists():
                runs[f"{label(run)}, {group.replace('-', ' ')}"].append(read(run))
    for i, (name, found) in enumerate(runs.items()):
        for ax, (column, title) in zip(axes.ravel(), shown, strict=True):
            steps = found[0]["TotalEnvInteracts"] / 1e6
            curves = np.stack([np.convolve(f[column], np.ones(5) / 5, "valid") for f in found])
            style = {"color": f"C{i % 10}", "ls": "--" if "six" in name else "-", "lw": 2 if "six" in name else 1.2}
            ax.plot(steps[4:], curves.mean(axis=0), label=name, **style)
            ax.fill_between(steps[4:], curves.min(axis=0), curves.max(axis=0), color=style["color"], alpha=0.12)
            ax.set(title=title, xlabel="million steps")
    axes[0, 0].set_ylim(1.5, 2.6)
    axes[0, 1].set(yscale="log", ylim=(0.005, 10))
    axes[1, 0].set_ylim(0.5, 1.0)
    axes[1, 1].set_ylim(0.0, 0.2)
    axes[1, 0].legend(fontsize=7)
    plt.savefig(path, dpi=110)
    print(f"\nwrote {path}")


def keep(runs: list[Path], group: str) -> None:
    for run in runs:
        target = RESULTS / group / run.name
        target.mkdir(parents=True, exist_ok=True)
        for name in ("metrics.csv", "evaluation.json"):
            shutil.copy(run / name, target / name)
        config = json.loads((run / "config.json").read_text())
        config.pop("out")
        (target / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, nargs="*", default=[])
    parser.add_argument("--group", default="three-million")
    args = parser.parse_args()
    keep(args.keep, args.group)
    for group in ("three-million", "six-million"):
        table(group)
    figure(Path(__file__).parents[1] / "docs" / "pictures" / "learning.png")


if __name__ == "__main__":
    main()
