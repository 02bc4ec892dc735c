"""The journal: one row of numbers per epoch, under the names this field uses."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

import numpy as np
from jaxtyping import Array, Float

from ascpo.training.learner import Judgement
from ascpo.trust_region.step import Report

Row = dict[str, float]


def row_of(
    judgement: Judgement,
    report: Report,
    share: Float[Array, ""],
    log_std: Float[Array, " act"],
    losses: Mapping[str, Float[Array, ""]],
    names: tuple[str, ...],
) -> Row:
    """What happened in an epoch. Columns of a constraint carry its name if there are several."""
    episodes = judgement.evidence.episodes
    row: Row = {
        "EpRet": float(episodes.reward),
        "EpCost": float(np.sum(episodes.cost)),
        "EpMaxCost": float(np.max(episodes.maximum)),
        "EpLen": float(episodes.length),
        "Episodes": int(episodes.finished),
        "SafeRate": 1.0 - float(episodes.violating),
        "TimeoutRate": float(episodes.time_limited),
        "Case": int(report.case),
        "AskShare": float(share),
        "Lambda": float(report.lam),
        "KL": float(report.divergence),
        "Gain": float(report.gain),
        "LineSearch": int(report.exponent),
        "Accepted": int(report.accepted),
        "CGResidual": float(report.residual),
        "LogStd": float(np.mean(log_std)),
        "LossV": float(losses["value"]),
        "LossC": float(losses.get("cost", np.nan)),
        "EVReward": float(judgement.explained),
    }
    constrained, several = len(report.nu) > 0, len(names) > 1
    for i, name in enumerate(names):
        tail = f"_{name}" if several else ""
        if several:
            row |= {f"EpCost{tail}": float(episodes.cost[i]), f"EpMaxCost{tail}": float(episodes.maximum[i])}
        row |= {
            f"StdMaxCost{tail}": float(np.sqrt(episodes.variance[i])),
            f"Nu{tail}": float(report.nu[i]) if constrained else np.nan,
            f"Asked{tail}": float(report.asked[i]) if constrained else np.nan,
            f"CostPredicted{tail}": float(report.predicted[i]) if constrained else np.nan,
            f"CostActual{tail}": float(report.actual[i]) if constrained else np.nan,
        }
    signals = len(judgement.cost_explained)
    for i in range(max(signals, len(names))):
        tail = (f"_{names[i % len(names)]}" if several else "") + ("_square" if i >= len(names) else "")
        known = i < signals
        row |= {
            f"EVCost{tail}": float(judgement.cost_explained[i]) if known else np.nan,
            f"CriticBias{tail}": float(judgement.cost_bias[i]) if known else np.nan,
        }
    return row


class Metrics:
    """`metrics.csv`, written row by row."""

    def __init__(self, path: Path) -> None:
        self._file: TextIO = path.open("w", newline="")
        self._writer: csv.DictWriter[str] | None = None

    def write(self, row: Row) -> None:
        if self._writer is None:
            self._writer = csv.DictWriter(self._file, list(row))
            self._writer.writeheader()
        self._writer.writerow({name: _short(value) for name, value in row.items()})
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _short(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"
