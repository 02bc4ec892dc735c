"""The page of a report: one file that needs no other, and no network."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ascpo.report.data import Run, find_runs
from ascpo.report.figures import Section, draw
from ascpo.report.groups import Group, groups_of
from ascpo.report.style import Drawn, Missing, chip, look, save
from ascpo.report.tables import fresh_tables, settings_tables, training_table, versions_table
from ascpo.report.timeline import milestones, timeline
from ascpo.report.wording import command, number, percent, plural, promised


@dataclass(frozen=True)
class Tile:
    """A figure that comes first."""

    title: str
    value: str
    note: str


def write_report(paths: Sequence[Path], out: Path | None = None, now: datetime | None = None) -> Path:
    """A page about these runs, with its figures as files beside it. Returns where it is."""
    every = find_runs(paths)
    runs = [run for run in every if run.epochs]
    folder = out or (runs[0].path / "report" if len(every) == 1 else Path("report"))
    pictures = folder / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    groups = groups_of(runs)
    sections = draw(groups)
    with look():
        drawings = {
            figure.name: save(figure, pictures)
            for section in sections
            for figure in section.figures
            if isinstance(figure, Drawn)
        }
    page = folder / "index.html"
    silent = [run.name for run in every if not run.epochs]
    page.write_text(render(groups, sections, drawings, now or datetime.now().astimezone(), silent), encoding="utf-8")
    return page


def render(
    groups: Sequence[Group],
    sections: Sequence[Section],
    drawings: dict[str, str],
    now: datetime,
    silent: Sequence[str] = (),
) -> str:
    """The page. Everything but the drawings is escaped; those were made from text that was."""
    engine = Environment(
        loader=PackageLoader("ascpo.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    engine.globals |= {"chip": chip, "command": command}
    engine.tests["missing"] = lambda figure: isinstance(figure, Missing)
    return engine.get_template("report.html").render(_content(groups, sections, drawings, now, silent))


def _content(
    groups: Sequence[Group], sections: Sequence[Section], drawings: dict[str, str], now: datetime, silent: Sequence[str]
) -> dict[str, Any]:
    runs = [run for group in groups for run in group.runs]
    different, shared = settings_tables(groups)
    columns, versions = versions_table(runs)
    return {
        "title": title_of(groups),
        "subtitle": _subtitle(groups),
        "made": f"{now.day} {now:%B %Y, %H:%M %Z}".strip(),
        "version": _version(),
        "groups": groups,
        "runs": runs,
        "single": len(runs) == 1,
        "remarks": _remarks(runs, silent),
        "tiles": _tiles(groups),
        "training": training_table(groups),
        "fresh": fresh_tables(groups),
        "unjudged": [run for run in runs if not run.evaluation],
        "certificates": [(run, _certificate(run)) for run in runs if run.certificate],
        "sections": [section for section in sections if section.figures],
        "drawings": {name: Markup(svg) for name, svg in drawings.items()},
        "journals": [(run, timeline(run), milestones(run)) for run in runs],
        "different": different,
        "shared": shared,
        "version_columns": columns,
        "versions": versions,
    }


def title_of(groups: Sequence[Group]) -> str:
    """What the report is about, in a line."""
    envs = list(dict.fromkeys(group.first.env for group in groups))
    where = envs[0] if len(envs) == 1 else plural(len(envs), "environment")
    if len(groups) > 1:
        return f"{where}: {len(groups)} settings side by side"
    group = groups[0]
    many = f"seed {group.first.seed}" if len(group.runs) == 1 else f"{len(group.runs)} seeds"
    return f"{where}: {group.label}, {many}"


def _subtitle(groups: Sequence[Group]) -> str:
    runs = [run for group in groups for run in group.runs]
    promises = {run.probability for run in runs}
    limits = {tuple(zip(run.constraints, run.limits, strict=False)) for run in runs}
    said = [plural(len(runs), "run")]
    if len(promises) == 1:
        said.append(f"every state within its limits in {promised(promises.pop())} of the episodes is the aim")
    if len(limits) == 1:
        said.append(", ".join(f"{name} ≤ {limit:g}" for name, limit in limits.pop()))
    return "; ".join(said)


def _version() -> str:
    with suppress(PackageNotFoundError):
        return version("ascpo")
    return ""


def _remarks(runs: Sequence[Run], silent: Sequence[str]) -> list[str]:
    """What a reader has to know before believing the curves."""
    found = [
        f"{run.name} has {run.epochs} of {run.planned} epochs: it is running, or was stopped."
        for run in runs
        if run.epochs < run.planned
    ]
    found += [
        f"{run.name}: its certificate is of another policy than its evaluation; `{command('evaluate', run)}` renews it."
        for run in runs
        if _of_another_policy(run)
    ]
    return found + [f"{name} has no finished epoch, and is left out." for name in silent]


def _of_another_policy(run: Run) -> bool:
    plan = run.certificate.get("plan")
    certified = plan.get("policy") if isinstance(plan, dict) else None
    judged = run.evaluation.get("policy")
    return bool(certified and judged and certified != judged)


def _tiles(groups: Sequence[Group]) -> list[Tile]:
    """Of a single group: what everybody asks for first."""
    if len(groups) > 1:
        return []
    runs = groups[0].runs
    judged = all("sampled" in run.evaluation for run in runs)

    def mean(name: str) -> float:
        values = [
            float(run.evaluation["sampled"].get(name, float("nan"))) if judged else run.last(name) for run in runs
        ]
        return sum(values) / len(values)

    source = "fresh episodes" if judged else "last epochs of the training"
    aim = f"{promised(runs[0].probability)} are the aim"
    return [
        Tile("within all limits", percent(mean("SafeRate")), f"{source}; {aim}"),
        Tile("return of an episode", number(mean("EpRet")), source),
        Tile("cost of an episode", number(mean("EpCost")), source),
        Tile("mean largest cost", number(mean("EpMaxCost")), source),
    ]


def _certificate(run: Run) -> dict[str, Any]:
    """What is said of it; a file of another format says less."""
    told = run.certificate
    statement = told.get("statement", [])
    found: dict[str, Any] = {
        "certified": bool(told.get("certified", False)),
        "sentences": [str(line) for line in ([statement] if isinstance(statement, str) else statement)],
        "figures": {
            name: f"{value:.4g}" for name in ("episodes", "violations", "probability", "confidence")
            if isinstance(value := told.get(name), (int, float))
        },
    }  # fmt: skip
    if isinstance(bound := told.get("bound"), (int, float)):
        # Never rounded up.
        found["figures"]["at least"] = f"{math.floor(bound * 1e4) / 1e4:.4f}"
    return found
