"""The tables of a report: statistics, settings, versions."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ascpo.report.data import ACTIONS, RunData
from ascpo.report.groups import Group, differing, shown
from ascpo.report.wording import number, percent
from ascpo.runs.source import Source

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
    Statistic("EpRet", "return $J_r$", "mean return of an episode"),
    Statistic("EpCost", "cost $M_c$", "mean sum of the costs of an episode"),
    Statistic("EpMaxCost", "largest cost", "mean largest cost of an episode"),
    Statistic("SafeRate", "within limits", "share of episodes that keep every limit", share=True),
    Statistic("TimeoutRate", "time-outs", "share of episodes that the time limit ends", share=True),
    Statistic("EpochCostRate", "cost per step", "cost of the steps of these epochs, per step"),
)
WHOLE = (
    Statistic("CostRate", "cost rate $ρ_c$", "cost per step since the training began"),
    Statistic("Epochs", "epochs", "number of finished epochs"),
    Statistic("Steps", "steps", "steps of all environments together"),
    Statistic("Seconds", "seconds", "time of the training, without interruptions"),
)
FRESH = (
    Statistic("Episodes", "episodes", "number of episodes"),
    Statistic("EpRet", "return $J_r$", "mean return"),
    Statistic("EpCost", "cost $M_c$", "mean sum of costs"),
    Statistic("EpMaxCost", "largest cost", "mean largest cost of an episode"),
    Statistic("EpMaxCost95", "its 95 %", "95 % of the episodes stay under this largest cost"),
    Statistic("EpMaxCost99", "its 99 %", "99 % of the episodes stay under this largest cost"),
    Statistic("EpMaxCostWorst", "worst", "largest cost of any state"),
    Statistic("SafeRate", "within limits", "share of episodes that keep every limit", share=True),
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


Measure = Callable[[RunData, str], tuple[float, object]]
"""A run and the name of a statistic → its value, and its interval if there is one."""


def training_table(groups: Sequence[Group]) -> StatisticsTable:
    """Means over the end of the training."""

    def measure(run: RunData, name: str) -> tuple[float, None]:
        return run.last(name), None

    ends = sorted({run.ending for group in groups for run in group.runs})
    span = " to ".join(map(str, sorted({ends[0], ends[-1]})))
    note = f"The values are means over the last {span} epochs: a tenth of the training, and ten epochs at most."
    if ends == [1]:
        note = "The values are those of the last epoch."
    return _table(groups, TRAINING, measure, note)


def whole_table(groups: Sequence[Group]) -> StatisticsTable:
    """What the training cost, from its first step to its last."""

    def measure(run: RunData, name: str) -> tuple[float, None]:
        column = {"Steps": "TotalEnvInteracts", "Seconds": "WallClock"}.get(name, name)
        return float(run.epochs) if name == "Epochs" else run.last(column, 1), None

    return _table(groups, WHOLE, measure, "")


def fresh_tables(groups: Sequence[Group]) -> dict[str, StatisticsTable]:
    """Kind of actions → a table of the evaluations with it."""
    having = {actions: [group for group in groups if all(actions in run.evaluation for run in group.runs)]
              for actions in ACTIONS}  # fmt: skip
    return {ACTIONS[actions]: _fresh_table(found, actions) for actions, found in having.items() if found}


def _fresh_table(groups: Sequence[Group], actions: str) -> StatisticsTable:
    def measure(run: RunData, name: str) -> tuple[float, object]:
        evaluation = run.evaluation[actions]
        value = evaluation.get(name)
        value = float(value) if isinstance(value, (int, float)) else math.nan
        return value, evaluation.get("intervals", {}).get(name)

    intervals = any(run.evaluation[actions].get("intervals") for group in groups for run in group.runs)
    return _table(groups, FRESH, measure, "Small numbers are the 95 % intervals of a run." if intervals else "")


def _table(groups: Sequence[Group], statistics: Sequence[Statistic], measure: Measure, note: str) -> StatisticsTable:
    """A table of the statistics that at least one run has."""
    runs = [run for group in groups for run in group.runs]

    def known(name: str) -> bool:
        values = [value for run in runs if math.isfinite(value := measure(run, name)[0])]
        # Only a shield that acts has interventions.
        return bool(values) and (name != "Interventions" or any(values))

    statistics = tuple(statistic for statistic in statistics if known(statistic.name))
    rows, seeds = [], []
    for group in groups:
        measured = [[measure(run, statistic.name) for statistic in statistics] for run in group.runs]
        each = [tuple(map(_cell, statistics, values)) for values in measured]
        together = each[0] if len(each) == 1 else tuple(map(_over_seeds, statistics, zip(*measured, strict=True)))
        rows.append(Row(group.label, group.index, together))
        if len(each) > 1:
            names = [f"{group.label}, seed {run.seed}" for run in group.runs]
            seeds += [Row(name, group.index, cells) for name, cells in zip(names, each, strict=True)]
    if seeds:
        note += " Groups of several seeds show the mean and, in small numbers, the range."
    return StatisticsTable(statistics, tuple(rows), tuple(seeds), note.strip())


def _cell(statistic: Statistic, measured: tuple[float, object]) -> Cell:
    match measured:
        case (value, _) if not math.isfinite(value):
            return Cell(NOTHING)
        case (value, [int() | float() as low, int() | float() as high]):
            return Cell(statistic.show(value), statistic.span(low, high))
        case (value, _):
            return Cell(statistic.show(value))


def _over_seeds(statistic: Statistic, measured: Sequence[tuple[float, object]]) -> Cell:
    known = [value for value, _ in measured if math.isfinite(value)]
    if not known:
        return Cell(NOTHING)
    if statistic.name == "Episodes":
        return Cell(statistic.show(sum(known)))
    mean = statistic.show(sum(known) / len(known))
    same = statistic.show(min(known)) == statistic.show(max(known)) == mean
    return Cell(mean, "" if same else statistic.span(min(known), max(known)))


def settings_tables(groups: Sequence[Group]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The settings that differ, with a value for each group; and the settings that all groups share."""
    firsts = [group.first for group in groups]
    names = [name for name in differing(firsts) if name != "seed"]
    different = {name: [shown(run.settings.get(name, NOTHING)) for run in firsts] for name in names}
    shared = {name: shown(value) for name, value in firsts[0].settings.items() if name not in [*names, "seed"]}
    return different, shared


def versions_table(runs: Sequence[RunData]) -> tuple[list[str], dict[str, list[str]]]:
    """The titles of the columns, one per set of versions, and the versions of each package."""
    columns: dict[str, list[RunData]] = {}
    for run in runs:
        if run.versions:
            columns.setdefault(repr(sorted(run.versions.items())), []).append(run)
    titles = ["all runs"] if len(columns) == 1 else [", ".join(run.name for run in same) for same in columns.values()]
    known = [same[0].versions for same in columns.values()]
    packages = dict.fromkeys(package for versions in known for package in versions)
    return titles, {package: [str(versions.get(package, NOTHING)) for versions in known] for package in packages}


SELECTION_TITLES = ("violations", "time-outs", "failures", "their share at most", "return", "cost")
"""Columns of the table of a selection."""


@dataclass(frozen=True)
class SelectionRow:
    """A candidate of a selection."""

    name: str
    cells: tuple[str, ...]
    selected: bool


def selection_rows(run: RunData) -> list[SelectionRow]:
    """The candidates of a run's selection. One of them is its final policy."""
    out, columns = [], run.selection
    for i in range(len(columns["Selected"])):
        row = {name: float(column[i]) for name, column in columns.items()}
        counts = tuple(f"{row[name]:.0f} of {row['Episodes']:.0f}" for name in ("Violations", "Timeouts", "Failures"))
        figures = (percent(row["UpperBound"]), number(row["EpRet"]), number(row["EpCost"]))
        name = Source("average", int(row["FirstEpoch"]), int(row["LastEpoch"])).description
        out.append(SelectionRow(name, counts + figures, bool(row["Selected"])))
    return out
