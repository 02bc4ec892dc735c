"""The tables of a report: last figures, settings, versions."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ascpo.report.data import WAYS, Run
from ascpo.report.groups import Group, differing, flat_settings, shown
from ascpo.report.wording import number, percent

_LAST = 10
"""Epochs whose mean counts as where a training ended."""
NOTHING = "–"


@dataclass(frozen=True)
class Figure:
    """A column of a table of figures."""

    name: str
    title: str
    meaning: str
    share: bool = False

    def show(self, value: float) -> str:
        return percent(value) if self.share else number(value)

    def span(self, low: float, high: float) -> str:
        """From the one to the other; the unit is said once."""
        return f"{self.show(low).removesuffix('%').rstrip()} – {self.show(high)}"


TRAINING = (
    Figure("EpRet", "return", "mean return of an episode"),
    Figure("EpCost", "cost", "mean sum of an episode's costs, M_c"),
    Figure("EpMaxCost", "largest cost", "mean of an episode's largest cost"),
    Figure("SafeRate", "within limits", "share of the episodes that kept every limit in every state", share=True),
    Figure("TimeoutRate", "time-outs", "share of the episodes that the time limit ended", share=True),
    Figure("CostRate", "cost rate", "cost per step since the training began, ρ_c"),
)
FRESH = (
    Figure("Episodes", "episodes", "how many were played"),
    Figure("EpRet", "return", "mean return"),
    Figure("EpCost", "cost", "mean sum of costs"),
    Figure("EpMaxCost", "largest cost", "mean of an episode's largest cost"),
    Figure("EpMaxCost95", "its 95 %", "what 95 % of the episodes stay under"),
    Figure("EpMaxCost99", "its 99 %", "what 99 % of the episodes stay under"),
    Figure("EpMaxCostWorst", "worst", "the largest cost of any state"),
    Figure("SafeRate", "within limits", "share of the episodes that kept every limit in every state", share=True),
    Figure("TimeoutRate", "time-outs", "share of the episodes that the time limit ended", share=True),
    Figure("FirstViolation", "first violation", "its step, median of the episodes that have one"),
    Figure("Interventions", "interventions", "share of the steps whose action a shield changed", share=True),
)


@dataclass(frozen=True)
class Cell:
    """A figure, and how sure it is."""

    value: str
    range: str = ""


@dataclass(frozen=True)
class Row:
    """Of a table of figures."""

    label: str
    index: int
    """Of its group, for the colour."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class FigureTable:
    """A row a group, and, where a group has several seeds, a row a seed."""

    figures: tuple[Figure, ...]
    rows: tuple[Row, ...]
    seeds: tuple[Row, ...]
    note: str


def training_table(groups: Sequence[Group]) -> FigureTable:
    """Where the trainings ended."""

    def of(run: Run, figure: Figure) -> tuple[float, None]:
        # A rate since the start is a mean already.
        return run.last(figure.name, 1 if figure.name == "CostRate" else _LAST), None

    figures = _known(TRAINING, groups, lambda run, figure: of(run, figure)[0])
    last = min(_LAST, *(run.epochs for group in groups for run in group.runs))
    note = f"Means over the last {last} epochs; the cost rate is that of the whole training."
    return FigureTable(figures, *_rows(groups, figures, of), f"{note} {_seeds_note(groups)}".strip())


def fresh_tables(groups: Sequence[Group]) -> dict[str, FigureTable]:
    """Way of acting → what the evaluation found, of the groups that were evaluated so."""
    found = {}
    for way, words in WAYS.items():
        having = [group for group in groups if all(way in run.evaluation for run in group.runs)]
        if having:
            found[words] = _fresh_table(groups, having, way)
    return found


def _fresh_table(groups: Sequence[Group], having: Sequence[Group], way: str) -> FigureTable:
    def of(run: Run, figure: Figure) -> tuple[float, Any]:
        told = run.evaluation[way]
        value = told.get(figure.name)
        value = float(value) if isinstance(value, (int, float)) else math.nan
        return value, told.get("intervals", {}).get(figure.name)

    figures = _known(FRESH, having, lambda run, figure: of(run, figure)[0])
    order = {group.slug: index for index, group in enumerate(groups)}
    sure = any(run.evaluation[way].get("intervals") for group in having for run in group.runs)
    note = "Small: 95 % intervals of a run." if sure else ""
    return FigureTable(figures, *_rows(having, figures, of, order), f"{note} {_seeds_note(having)}".strip())


def _known(
    figures: Sequence[Figure], groups: Sequence[Group], of: Callable[[Run, Figure], float]
) -> tuple[Figure, ...]:
    """Those that some run has something to say about; a shield's only where there is one."""
    runs = [run for group in groups for run in group.runs]

    def says(figure: Figure) -> bool:
        values = [value for run in runs if math.isfinite(value := of(run, figure))]
        return bool(values) and (figure.name != "Interventions" or any(values))

    return tuple(figure for figure in figures if says(figure))


def _rows(
    groups: Sequence[Group],
    figures: Sequence[Figure],
    of: Callable[[Run, Figure], tuple[float, Any]],
    order: Mapping[str, int] | None = None,
) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    rows, seeds = [], []
    for place, group in enumerate(groups):
        index = order[group.slug] if order else place
        each = [tuple(_cell(figure, *of(run, figure)) for figure in figures) for run in group.runs]
        if len(each) == 1:
            rows.append(Row(group.label, index, each[0]))
            continue
        together = tuple(_summed(figure, [of(run, figure)[0] for run in group.runs]) for figure in figures)
        rows.append(Row(group.label, index, together))
        names = [f"{group.label}, seed {run.seed}" for run in group.runs]
        seeds += [Row(name, index, cells) for name, cells in zip(names, each, strict=True)]
    return tuple(rows), tuple(seeds)


def _cell(figure: Figure, value: float, interval: Any = None) -> Cell:
    if not math.isfinite(value):
        return Cell(NOTHING)
    ends = interval if isinstance(interval, (list, tuple)) and len(interval) == 2 else None
    known = ends is not None and all(isinstance(end, (int, float)) for end in ends)
    return Cell(figure.show(value), figure.span(ends[0], ends[1]) if known and ends else "")


def _summed(figure: Figure, values: Sequence[float]) -> Cell:
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return Cell(NOTHING)
    if figure.name == "Episodes":
        return Cell(figure.show(sum(known)))
    mean = sum(known) / len(known)
    return Cell(figure.show(mean), figure.span(min(known), max(known)))


def _seeds_note(groups: Sequence[Group]) -> str:
    return "Of several seeds: their mean; small: least and most." if any(len(g.runs) > 1 for g in groups) else ""


def settings_tables(groups: Sequence[Group]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The settings that differ, with a value for each group; and those that all share."""
    flat = [flat_settings(group.first) for group in groups]
    names = [name for name in differing([group.first for group in groups]) if name != "seed"]
    different = {name: [shown(settings[name]) if name in settings else NOTHING for settings in flat] for name in names}
    shared = {name: shown(value) for name, value in flat[0].items() if name not in different and name != "seed"}
    return different, shared


def versions_table(runs: Sequence[Run]) -> tuple[list[str], dict[str, list[str]]]:
    """Which runs share a column, and the versions of each package in it."""
    columns: dict[str, tuple[Mapping[str, Any], list[str]]] = {}
    for run in runs:
        if run.versions:
            columns.setdefault(repr(sorted(run.versions.items())), (run.versions, []))[1].append(run.name)
    titles = ["all runs"] if len(columns) == 1 else [", ".join(names) for _, names in columns.values()]
    packages = dict.fromkeys(package for versions, _ in columns.values() for package in versions)
    found = {package: [str(versions.get(package, NOTHING)) for versions, _ in columns.values()] for package in packages}
    return titles, found
