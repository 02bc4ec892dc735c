"""Scores of trials: the mean return, and the probability of keeping the limits that every seed certifies."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ascpo.evaluation.bound import lower_bound
from ascpo.runs.directory import RunDirectory
from ascpo.runs.files import BadFile
from ascpo.runs.sealed import read_sealed
from ascpo.runs.tables import read_table
from ascpo.sweep.jobs import Batch

_WIDTH = 1.645
"""Standard errors on each side of a mean: a one-sided confidence of 0.95."""
_LAST = 5
"""Epochs whose returns are averaged."""


@dataclass(frozen=True)
class TrialScore:
    """The held-out episodes of a trial's policies, of all its seeds together."""

    mean_return: float
    violations: int
    episodes: int
    certified: float
    """Each policy keeps the limits with at least this probability, at the requested confidence."""


def score(batch: Batch, confidence: float) -> TrialScore:
    """The score of a trial.

    Every seed has its own policy and probability, and so its own bound. The smallest bound counts. It exceeds the
    worst policy's probability only if that policy's bound does, so it has the same confidence.
    """
    figures = [read_sealed(job.directory / "evaluation.json", "evaluation").content["sampled"] for job in batch]
    episodes = [one["Episodes"] for one in figures]
    violations = [round((1.0 - one["SafeRate"]) * one["Episodes"]) for one in figures]
    mean = float(np.average([one["EpRet"] for one in figures], weights=episodes))
    certified = min(lower_bound(*counts, confidence) for counts in zip(violations, episodes, strict=True))
    return TrialScore(mean, sum(violations), sum(episodes), certified)


def return_bounds(batch: Batch, epochs: int) -> tuple[float, float] | None:
    """A lower and an upper confidence bound of the return after this many epochs, if all runs have them."""
    returns: list[float] = []
    for job in batch:
        found = _returns(job.run)
        if len(found) < epochs:
            return None
        returns += list(found[max(0, epochs - _LAST) : epochs])
    error = _WIDTH * float(np.std(returns, ddof=1)) / len(returns) ** 0.5 if len(returns) > 1 else float("inf")
    return float(np.mean(returns)) - error, float(np.mean(returns)) + error


def is_hopeless(batch: Batch, best: Sequence[Batch], patience: float) -> bool:
    """Whether a trial's return is clearly below that of another one at the same epoch.

    Its upper confidence bound is then below the lower confidence bound of one of the best. No trial is pruned in the
    first part of the training, a fraction of `patience`.
    """
    epochs = min(len(_returns(job.run)) for job in batch)
    if not best or epochs < max(2.0, patience * batch[0].config.epochs) or not batch[0].epochs_left:
        return False
    mine = return_bounds(batch, epochs)
    others = [bounds[0] for other in best if (bounds := return_bounds(other, epochs)) is not None]
    return mine is not None and bool(others) and mine[1] < max(others)


def _returns(run: RunDirectory) -> np.ndarray:
    try:
        return read_table(run.metrics)["EpRet"] if run.metrics.exists() else np.zeros(0)
    except (BadFile, KeyError, OSError):
        return np.zeros(0)
