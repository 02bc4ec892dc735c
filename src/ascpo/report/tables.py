"""The tables of a report: statistics, settings, versions."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ascpo.report.data import ACTIONS, RunData
from ascpo.report.groups import Group, differing, flat_settings, shown
from ascpo.report.wording import number, percent

_LAST = 10
"""The table of the training has means over this many epochs at its end."""
NOTHING = "–"


@dataclass(frozen=True)
class Statistic:
    """A column of a table of statistics."""

    name: str
    title: str
    meaning: str
    share: bool = False

    def show(self, value: float) -> str:
        return percent(value) if self.share else number(value)

    def span(self, low: float, high: float) -> str:
        """A range, with its unit once."""
        return f"{self.show(low).removesuffix('%').rstrip()} – {self.show(high)}"


TRAINING = (
    Statistic("EpRet", "return", "mean return of an episode"),
    Statistic("EpCost", "cost", "mean sum of the costs of an episode, M_c"),
    Statistic("EpMaxCost", "largest cost", "mean largest cost of an episode"),
    Statistic("SafeRate", "within limits", "share of episodes that keep every limit in every state", share=True),
    Statistic("TimeoutRate", "time-outs", "share of episodes that the time limit ends", share=True),
    Statistic("CostRate", "cost rate", "cost per step since the training began, ρ_c"),
)
FRESH = (
    Statistic("Episodes", "episodes", "number of episodes"),
    Statistic("EpRet", "return", "mean return"),
    Statistic("EpCost", "cost", "mean sum of costs"),
    Statistic("EpMaxCost", "largest cost", "mean largest cost of an episode"),
    Statistic("EpMaxCost95", "its 95 %", "95 % of the episodes stay under this largest cost"),
    Statistic("EpMaxCost99", "its 99 %", "99 % of the episodes stay under this largest cost"),
    Statistic("EpMaxCostWorst", "worst", "largest cost of any state"),
    Statistic("SafeRate", "within limits", "share of episodes that keep every limit in every state", share=True),
    Statistic("TimeoutRate", "time-outs", "share of episodes that the time limit ends", share=True),
    Statistic("FirstViolation", "first violation", "median step of the first violation, over episodes that have one"),
    Statistic("Interventions", "interventions", "share of steps in which the shield changes the action", share=True),
)


@dataclass(frozen=True)
class Cell:
    """A value, and its interval or range."""

    value: str
    range: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a table of statistics."""

    label: str
    index: int
    """The index of its group, for the colour."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class StatisticsTable:
    """One row per group, and one row per seed for groups with several seeds."""

    statistics: tuple[Statistic, ...]
    rows: tuple[Row, ...]
    seeds: tuple[Row, ...]
    note: str


def training_table(groups: Sequence[Group]) -> StatisticsTable:
    """Means over the end of the training."""

    def of(run: RunData, statistic: Statistic) -> tuple[float, None]:
        # The cost rate is a mean over the whole training already.
        return run.last(statistic.name, 1 if statistic.name == "CostRate" else _LAST), None

    statistics = _available(TRAINING, groups, lambda run, statistic: of(run, statistic)[0])
    last = min(_LAST, *(run.epochs for group in groups for run in group.runs))
    note = f"The values are means over the last {last} epochs. The cost rate covers the whole training."
    return StatisticsTable(statistics, *_rows(groups, statistics, of), f"{note} {_seeds_note(groups)}".strip())


def fresh_tables(groups: Sequence[Group]) -> dict[str, StatisticsTable]:
    """Kind of actions → the evaluations of the groups that have one."""
    found = {}
    for actions, name in ACTIONS.items():
        having = [group for group in groups if all(actions in run.evaluation for run in group.runs)]
        if having:
            found[name] = _fresh_table(groups, having, actions)
    return found


def _fresh_table(groups: Sequence[Group], having: Sequence[Group], actions: str) -> StatisticsTable:
    def of(run: RunData, statistic: Statistic) -> tuple[float, Any]:
        evaluation = run.evaluation[actions]
        value = evaluation.get(statistic.name)
        value = float(value) if isinstance(value, (int, float)) else math.nan
        return value, evaluation.get("intervals", {}).get(statistic.name)

    statistics = _available(FRESH, having, lambda run, statistic: of(run, statistic)[0])
    order = {group.slug: index for index, group in enumerate(groups)}
    intervals = any(run.evaluation[actions].get("intervals") for group in having for run in group.runs)
    note = "Small numbers are the 95 % intervals of a run." if intervals else ""
    return StatisticsTable(statistics, *_rows(having, statistics, of, order), f"{note} {_seeds_note(having)}".strip())


def _available(
    statistics: Sequence[Statistic], groups: Sequence[Group], of: Callable[[RunData, Statistic], float]
) -> tuple[Statistic, ...]:
    """The statistics that some run has. Interventions need a shield that acts."""
    runs = [run for group in groups for run in group.runs]

    def known(statistic: Statistic) -> bool:
        values = [value for run in runs if math.isfinite(value := of(run, statistic))]
        return bool(values) and (statistic.name != "Interventions" or any(values))

    return tuple(statistic for statistic in statistics if known(statistic))


def _rows(
    groups: Sequence[Group],
    statistics: Sequence[Statistic],
    of: Callable[[RunData, Statistic], tuple[float, Any]],
    order: Mapping[str, int] | None = None,
) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    rows, seeds = [], []
    for place, group in enumerate(groups):
        index = order[group.slug] if order else place
        each = [tuple(_cell(statistic, *of(run, statistic)) for statistic in statistics) for run in group.runs]
        if len(each) == 1:
            rows.append(Row(group.label, index, each[0]))
            continue
        together = tuple(
            _over_seeds(statistic, [of(run, statistic)[0] for run in group.runs]) for statistic in statistics
        )
        rows.append(Row(group.label, index, together))
        names = [f"{group.label}, seed {run.seed}" for run in group.runs]
        seeds += [Row(name, index, cells) for name, cells in zip(names, each, strict=True)]
    return tuple(rows), tuple(seeds)


def _cell(statistic: Statistic, value: float, interval: Any = None) -> Cell:
    if not math.isfinite(value):
        return Cell(NOTHING)
    ends = interval if isinstance(interval, (list, tuple)) and len(interval) == 2 else None
    known = ends is not None and all(isinstance(end, (int, float)) for end in ends)
    return Cell(statistic.show(value), statistic.span(ends[0], ends[1]) if known and ends else "")


def _over_seeds(statistic: Statistic, values: Sequence[float]) -> Cell:
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return Cell(NOTHING)
    if statistic.name == "Episodes":
        return Cell(statistic.show(sum(known)))
    mean = sum(known) / len(known)
    return Cell(statistic.show(mean), statistic.span(min(known), max(known)))


def _seeds_note(groups: Sequence[Group]) -> str:
    several = any(len(group.runs) > 1 for group in groups)
    return "Groups of several seeds show the mean and, in small numbers, the range." if several else ""


def settings_tables(groups: Sequence[Group]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The settings that differ, with a value for each group; and the settings that all groups share."""
    flat = [flat_settings(group.first) for group in groups]
    names = [name for name in differing([group.first for group in groups]) if name != "seed"]
    different = {name: [shown(settings[name]) if name in settings else NOTHING for settings in flat] for name in names}
    shared = {name: shown(value) for name, value in flat[0].items() if name not in different and name != "seed"}
    return different, shared


def versions_table(runs: Sequence[RunData]) -> tuple[list[str], dict[str, list[str]]]:
    """The titles of the columns, one per set of versions, and the versions of each package."""
    columns: dict[str, tuple[Mapping[str, Any], list[str]]] = {}
    for run in runs:
        if run.versions:
            columns.setdefault(repr(sorted(run.versions.items())), (run.versions, []))[1].append(run.name)
    titles = ["all runs"] if len(columns) == 1 else [", ".join(names) for _, names in columns.values()]
    packages = dict.fromkeys(package for versions, _ in columns.values() for package in versions)
    found = {package: [str(versions.get(package, NOTHING)) for versions, _ in columns.values()] for package in packages}
    return titles, found
