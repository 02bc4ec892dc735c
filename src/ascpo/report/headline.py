"""Which group is best, and whether the seeds show it.

A group's mean over seeds has Student's 95 % interval. The best group is compared with every other one by Welch's
interval of the difference. With g groups, each of these has the confidence 1 − 0.05/(g − 1), so that all of them hold
together with 95 %. If such an interval includes zero, the two groups are tied.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ascpo.evaluation.intervals import LEVEL, of_difference, of_mean
from ascpo.report.groups import Group, environments
from ascpo.report.tables import Statistic
from ascpo.report.wording import listed, number, percent, plural, points

_MEASURES = (
    (Statistic("SafeRate", "Within all limits", "share of episodes that keep every limit", share=True), 1.0),
    (Statistic("EpRet", "Return of an episode", "mean return"), 1.0),
    (Statistic("EpCost", "Cost of an episode", "mean sum of costs"), -1.0),
)
"""What is compared, and whether more of it is better."""


@dataclass(frozen=True)
class Verdict:
    """A comparison of groups by one number."""

    title: str
    text: str
    """The winner, a tie, or that the seeds are too few."""
    means: tuple[tuple[Group, str], ...]
    """The mean of each group with its interval, the best first."""


@dataclass(frozen=True)
class Headline:
    """The comparisons in one environment."""

    env: str
    source: str
    """The episodes that the numbers come from."""
    note: str
    """That some groups have too few seeds for a comparison. Empty if all have several."""
    verdicts: tuple[Verdict, ...]


def headlines(groups: Sequence[Group]) -> list[Headline]:
    """A headline for each environment with several groups."""
    found = [_headline(env, [group for group in groups if group.first.env == env]) for env in environments(groups)]
    return [headline for headline in found if headline is not None]


def _headline(env: str, groups: Sequence[Group]) -> Headline | None:
    if len(groups) < 2:
        return None
    evaluated = all("sampled" in run.evaluation for group in groups for run in group.runs)
    verdicts = []
    for statistic, sign in _MEASURES:
        values = {group: _by_seed(group, statistic.name, evaluated=evaluated) for group in groups}
        if all(len(found) and np.isfinite(found).all() for found in values.values()):
            verdicts.append(compared(statistic, sign, values))
    source = "fresh episodes with sampled actions" if evaluated else "the end of the training"
    return Headline(env, source, _single(groups), tuple(verdicts)) if verdicts else None


def _by_seed(group: Group, name: str, *, evaluated: bool) -> Float[np.ndarray, " seed"]:
    values = [run.evaluation["sampled"].get(name) if evaluated else run.last(name) for run in group.runs]
    return np.array([math.nan if value is None else float(value) for value in values])


def compared(statistic: Statistic, sign: float, values: dict[Group, Float[np.ndarray, " seed"]]) -> Verdict:
    """The verdict over the groups' values by seed. More is better if the sign is positive."""
    ranked = sorted(values, key=lambda group: -sign * float(values[group].mean()))
    best, *others = ranked
    means = tuple((group, _with_interval(statistic, values[group])) for group in ranked)
    if any(len(found) < 2 for found in values.values()):
        return Verdict(statistic.title, "No winner can be named.", means)
    level = 1.0 - (1.0 - LEVEL) / len(others)
    found = {other: of_difference(values[best], values[other], level) for other in others}
    apart = {other: interval for other, interval in found.items() if interval is not None}
    tied = [other for other, interval in apart.items() if interval.low <= 0.0 <= interval.high]
    seeds = " to ".join(map(str, sorted({len(found) for found in values.values()})))
    if tied:
        text = f"A tie: the {seeds} seeds do not tell {listed([_name(best), *(_name(other) for other in tied)])} apart."
        beaten = [_name(other) for other in others if other not in tied]
        text += f" They tell {_name(best)} from {listed(beaten)}." if beaten else ""
        return Verdict(statistic.title, text, means)
    second = min(apart, key=lambda other: abs(apart[other].value))
    size = apart[second].map(abs)
    write = (lambda x: points(x).removeprefix("+")) if statistic.share else number
    ahead = f"by {write(size.value)} (95 % interval {write(size.low)} to {write(size.high)}; {seeds} seeds)"
    return Verdict(statistic.title, f"{_name(best)} wins {ahead} over {_name(second)}.", means)


def _with_interval(statistic: Statistic, values: Float[np.ndarray, " seed"]) -> str:
    interval = of_mean(values)
    if interval is None:
        return statistic.show(float(values.mean()))
    mean, low, high = interval.value, interval.low, interval.high
    if statistic.name != "EpRet":
        low = max(low, 0.0)  # Shares and costs are never negative.
    if statistic.share:
        high = min(high, 1.0)
        return f"{percent(mean)} [{percent(low)}, {percent(high)}]"
    return f"{number(mean)} [{number(low)}, {number(high)}]"


def _name(group: Group) -> str:
    """The label without the environment, which the heading names."""
    return group.label.removeprefix(f"{group.first.env}, ")


def _single(groups: Sequence[Group]) -> str:
    alone = [_name(group) for group in groups if len(group.runs) < 2]
    if not alone:
        return ""
    seeds = f"{'has' if len(alone) == 1 else 'have'} {plural(1, 'seed')}{' each' if alone[1:] else ''}"
    return f"{listed(alone)} {seeds}, which does not show how much of a difference is chance. Train more seeds."
