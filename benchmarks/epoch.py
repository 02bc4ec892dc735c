"""Time the parts of an epoch (rollout, critics, policy, rest) for several algorithms, interleaved in one process.

python -m benchmarks.epoch                        # Point-8-Hazard: the defaults, and those without near misses
python -m benchmarks.epoch --critics              # minibatches against full batches
"""

import argparse
import itertools
import resource
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ascpo.algorithms import ASCPO, CPO
from ascpo.engines.native.engine import NativeEngine
from ascpo.environments.spaces import make_task
from ascpo.networks.settings import CostFitSettings, FitSettings
from ascpo.runs.composition import defaults_for
from ascpo.training.agent import agent_for
from ascpo.training.loop import train
from ascpo.training.settings import Settings

PARTS = ("TimeRollout", "TimeEstimates", "TimePolicy", "TimeCritics", "TimeOther")


def measure(runs: Mapping[str, tuple[Any, Settings]], epochs: int, suite: str) -> dict[str, dict[str, float]]:
    """Median seconds of every part. The runs take turns by epochs, so that a slow minute affects all of them."""
    task = make_task(suite, "paper", "closest", 1000)
    trainings, laps = {}, {name: [] for name in runs}
    for name, (algorithm, settings) in runs.items():
        engine = NativeEngine(task, settings.num_envs)
        agent = agent_for(engine, algorithm.build(settings.probability), settings)
        trainings[name] = train(engine, agent, 0, epochs + 2)
        began = time.perf_counter()
        next(trainings[name])
        print(f"{name}: first epoch, compilation included, {time.perf_counter() - began:.1f} s", flush=True)
        next(trainings[name])
    for _, name in itertools.product(range(epochs), runs):
        laps[name].append(next(trainings[name]).timing)
    return {
        name: {part: float(np.median([row[part] for row in rows])) for part in PARTS} for name, rows in laps.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--suite", default="Point-8-Hazard")
    parser.add_argument("--critics", action="store_true")
    args = parser.parse_args()
    runs: dict[str, tuple[Any, Settings]] = {}
    if args.critics:
        full = CostFitSettings(batch_size=0, window=1)
        runs["minibatches of 4096"] = ASCPO(), Settings()
        runs["full batches"] = ASCPO(), Settings(value_fit=FitSettings(batch_size=0), cost_fit=full)
    else:
        for algo in ("trpo", "cpo", "scpo", "ascpo"):
            settings, method = defaults_for(args.suite, algo)
            runs[algo] = method, settings
        runs["cpo, sparse costs"] = CPO(), Settings()
        runs["ascpo, sparse costs"] = ASCPO(), Settings()
    found = measure(runs, args.epochs, args.suite)
    base = sum(next(iter(found.values())).values())
    print(f"\n| run | rollout | estimates | policy | critics | other | epoch, s | against {next(iter(found))} |")
    print("|" + "---|" * 8)
    for name, parts in found.items():
        total = sum(parts.values())
        print(
            f"| {name} | " + " | ".join(f"{x:.2f}" for x in parts.values()) + f" | {total:.2f} | {total / base:.2f} |"
        )
    print(f"\nPeak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB, all in one process.")


if __name__ == "__main__":
    main()
