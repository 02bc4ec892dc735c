"""Directories of runs as a training leaves them, with numbers that a reader can follow."""

import csv
import json

import numpy as np

from ascpo.runs.sealed import policy_digest, sealed_arrays

COLUMNS = {
    "EpRet": 1.0,
    "EpCost": 0.4,
    "EpMaxCost": 0.1,
    "EpLen": 50.0,
    "Episodes": 20,
    "SafeRate": 0.9,
    "TimeoutRate": 0.05,
    "Case": 1,
    "AskShare": 0.97,
    "Lambda": 0.5,
    "KL": 0.01,
    "Gain": 0.002,
    "LineSearch": 1,
    "Accepted": 1,
    "EVReward": 0.8,
    "StdMaxCost": 0.1,
    "EpMaxCost50": 0.0,
    "EpMaxCost75": 0.1,
    "EpMaxCost90": 0.2,
    "EpMaxCost95": 0.25,
    "EpMaxCost99": 0.3,
    "Nu": 0.2,
    "Asked": 0.3,
    "CostPredicted": -0.25,
    "CostActual": -0.125,
    "EVCost": 0.5,
    "WorstCost": 0.4,
    "CostRate": 0.008,
    "EpochCostRate": 0.008,
}
"""A row of the log. `made` takes one value for all epochs, or one for each; None leaves the column out."""
NO_CONSTRAINTS = {"Case": 4, **dict.fromkeys(("Nu", "Asked", "CostPredicted", "CostActual"), "nan")}
SETTINGS = {
    "num_envs": 2,
    "horizon": 50,
    "limits": [0.0],
    "probability": 0.8,
    "trust_region": {"delta": 0.02, "backtracking": 0.5},
    "ask": {"closed": True, "share": 0.97, "relief": 0.25, "patience": 0.1, "memory": 0.7},
}


def made(
    path, *, env="Point-1-Hazard", algo="ascpo", seed=0, epochs=4, method=None, settings=None, preset=None, **columns
):
    """The directory of a run, with a log of this many epochs. Returns the path."""
    path.mkdir(parents=True)
    own = {"mode": "chance", "k": 7.0} if algo == "ascpo" else {}
    config = {
        "env": env,
        "algo": algo,
        **({"preset": preset} if preset else {}),
        "seed": seed,
        "total_steps": 100 * epochs,
        "settings": SETTINGS | (settings or {}),
        "method": own if method is None else method,
    }
    (path / "config.json").write_text(json.dumps(config))
    named = {name: value for name, value in (COLUMNS | columns).items() if value is not None}
    rows = [
        {"Epoch": t, "TotalEnvInteracts": 100 * (t + 1)}
        | {name: value[t] if isinstance(value, (list, tuple)) else value for name, value in named.items()}
        for t in range(epochs)
    ]
    table(path / "metrics.csv", rows)
    table(path / "timing.csv", [{"Epoch": t, "WallClock": 10.0 * (t + 1)} for t in range(epochs)])
    return path


def evaluated(path, costs=(0.0, 0.0, 0.0, 1.0), maxima=(0.0, 0.0, 0.0, 0.25), *, suffix="", names=("hazard",)):
    """Add an evaluation of a few episodes to a run. Returns the path."""
    sampled = {"Episodes": len(costs), "EpRet": 2.0, "SafeRate": 0.75, "EpMaxCost": 0.0625, "EpMaxCostWorst": 0.25}
    sampled["intervals"] = {"SafeRate": [0.25, 0.875]}
    evaluation = {"policy": "", "cost_names": list(names), "limits": [0.0] * len(names), "sampled": sampled}
    (path / "evaluation.json").write_text(json.dumps(evaluation))
    rows = [{"EpRet": 2.0, f"EpCost{suffix}": c, f"EpMaxCost{suffix}": m} for c, m in zip(costs, maxima, strict=True)]
    table(path / "episodes-sampled.csv", rows)
    return path


def with_policy(path):
    """Add a policy of two numbers to a run. Returns its digest."""
    about = {"config": json.loads((path / "config.json").read_text()), "cost_names": ["hazard"], "epochs": 1}
    arrays = {name: np.zeros(2, np.float32) for name in ("theta", "low", "high")}
    (path / "policy.safetensors").write_bytes(sealed_arrays(about, arrays))
    return policy_digest(about, arrays)


def table(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


QUANTILES = tuple(f"EpMaxCost{level}" for level in (50, 75, 90, 95, 99))


def several(**columns):
    """Columns of two constraints, hazard and pillar, for `made`."""
    own = ("StdMaxCost", "Nu", "Asked", "CostPredicted", "CostActual", "EVCost", "EpCost", "EpMaxCost")
    own += QUANTILES
    kept = {"EpCost": 0.4, "EpMaxCost": 0.1}
    each = {f"{name}_{constraint}": COLUMNS[name] for name in own for constraint in ("hazard", "pillar")}
    return dict.fromkeys(own) | kept | each | columns
