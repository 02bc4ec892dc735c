"""Compare runs: figures with intervals, and the differences of each pair.

Runs that differ only in their seed are one group, and their intervals are Student's over the seeds. The interval of a
single seed is over the episodes of its evaluation, and does not cover other seeds. Differences of groups with two seeds
or more have Welch's interval over the seeds. Those of single runs are over their episodes: Welch's, and for shares
Newcombe's, which is accurate near 0 and 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from ascpo.evaluation.intervals import LEVEL, Interval, of_difference, of_mean, of_shares
from ascpo.report.data import RunData, search
from ascpo.report.groups import Group, groups_of
from ascpo.runs.notebook import Columns, DataFrame, Table, data_frame, html_table, shown
from ascpo.runs.run_like import RunLike, path_of
from ascpo.runs.serialization import BadSetting, nearest

METRICS = ("EpRet", "EpCost", "EpMaxCost", "SafeRate", "TimeoutRate")
_SHARES = {"SafeRate": "Safe", "TimeoutRate": "Timeout"}
"""Shares of episodes → the column with the value of each episode."""


@dataclass(frozen=True)
class RunComparison:
    """Figures of several groups of runs, and their differences."""

    table: Columns
    """A row for each group and metric: the value, its interval, the number of seeds, and what the interval is over."""
    differences: Columns
    """A row for each pair of groups and metric: first minus second, its interval, and whether that leaves out 0."""
    source: str
    """The source of the figures."""
    warnings: tuple[str, ...] = field(default=(), repr=False)
    """Sentences about files that cannot be trusted."""

    def to_pandas(self) -> DataFrame:
        """The figures as a pandas.DataFrame."""
        return data_frame(self.table)

    def differences_to_pandas(self) -> DataFrame:
        """The differences as a pandas.DataFrame."""
        return data_frame(self.differences)

    def _repr_html_(self) -> str:
        notes = [
            f"The figures are {self.source}. Each interval has a confidence of {100 * LEVEL:g} % by itself: of twenty "
            f"differences that do not exist, about one seems to.",
            *self.warnings,
        ]
        differences = html_table("Differences", _with_intervals(self.differences, "difference"), notes)
        return html_table("Runs", _with_intervals(self.table, "value")) + differences


def compare(*runs: RunLike, metrics: Sequence[str] = METRICS) -> RunComparison:
    """Compare runs by their evaluations, or by the last epochs of their training if one is not evaluated.

    A directory stands for all runs inside it. Nothing is trained or played.
    """
    if not runs:
        raise BadSetting("Name the runs, or a directory that contains runs: ascpo.compare('runs').")
    if isinstance(metrics, str):
        raise BadSetting(f"metrics={metrics!r} must be a list: metrics=[{metrics!r}].")
    found = search([path_of(run) for run in runs])
    groups = groups_of([run for run in found.runs if run.epochs])
    every = [run for group in groups for run in group.runs]
    fresh = all("sampled" in run.evaluation for run in every)
    _refuse_unknown(metrics, every, fresh=fresh)
    figures = [(group, metric) for metric in metrics for group in groups]
    intervals = [_interval(group, metric, fresh=fresh) for group, metric in figures]
    pairs = [(one, other, metric) for metric in metrics for one, other in combinations(groups, 2)]
    apart = [_difference(*pair, fresh=fresh) for pair in pairs]
    return RunComparison(
        table={
            "group": [group.label for group, _ in figures],
            "metric": [metric for _, metric in figures],
            "value": [one.value for one in intervals],
            "low": [one.low for one in intervals],
            "high": [one.high for one in intervals],
            "seeds": [len(group.runs) for group, _ in figures],
            "over": [_over(group, fresh=fresh) for group, _ in figures],
        },
        differences={
            "first": [one.label for one, _, _ in pairs],
            "second": [other.label for _, other, _ in pairs],
            "metric": [metric for _, _, metric in pairs],
            "difference": [one.value for one in apart],
            "low": [one.low for one in apart],
            "high": [one.high for one in apart],
            "differs": [one.low > 0.0 or one.high < 0.0 for one in apart],
        },
        source="of fresh episodes" if fresh else "of the end of the training, because a run is not evaluated",
        warnings=(*found.refused, *(warning for run in every for warning in run.warnings())),
    )


def _refuse_unknown(metrics: Sequence[str], runs: Sequence[RunData], *, fresh: bool) -> None:
    """Refuse a metric that no run has. One that only some have, such as that of a constraint, is NaN for the others."""
    known = dict.fromkeys(name for run in runs for name in (run.evaluation["sampled"] if fresh else run.metrics))
    known.pop("intervals", None)
    for metric in metrics:
        if metric not in known:
            raise BadSetting(f"No run has the metric {metric!r}. {nearest(metric, known)}")


def _value(run: RunData, metric: str, *, fresh: bool) -> float:
    if fresh:
        value = run.evaluation["sampled"].get(metric, math.nan)
        return math.nan if value is None else float(value)
    return run.last(metric)


def _interval(group: Group, metric: str, *, fresh: bool) -> Interval:
    values = [_value(run, metric, fresh=fresh) for run in group.runs]
    over_seeds = of_mean(values)
    if over_seeds is not None:
        return over_seeds
    known = group.first.evaluation["sampled"].get("intervals", {}) if fresh else {}
    low, high = known.get(metric, (math.nan, math.nan))
    return Interval(values[0], float(low), float(high))


def _over(group: Group, *, fresh: bool) -> str:
    if len(group.runs) > 1:
        return "seeds"
    return "episodes" if fresh else ""


def _difference(one: Group, other: Group, metric: str, *, fresh: bool) -> Interval:
    x, y = ([_value(run, metric, fresh=fresh) for run in group.runs] for group in (one, other))
    value = float(np.mean(x) - np.mean(y))
    found = of_difference(x, y)
    if found is None and len(x) == len(y) == 1 and fresh:
        a, b = (_episodes(group.first, metric) for group in (one, other))
        if a is not None and b is not None:
            found = of_shares(a, b) if metric in _SHARES else of_difference(a, b)
    return Interval(value, math.nan, math.nan) if found is None else found


def _episodes(run: RunData, metric: str) -> np.ndarray | None:
    """The metric of each evaluated episode; None if the table does not have it."""
    return run.episodes.get("sampled", {}).get(_SHARES.get(metric, metric))


def _with_intervals(table: Columns, name: str) -> Table:
    """The value and its interval in one cell."""
    cells = [
        shown(value) if math.isnan(low) else f"{shown(value)} [{shown(low)}, {shown(high)}]"
        for value, low, high in zip(table[name], table["low"], table["high"], strict=True)
    ]
    return {key: cells if key == name else values for key, values in table.items() if key not in ("low", "high")}
